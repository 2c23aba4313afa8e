#include "evaluator/compile/locate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "candidates/hash.h"
#include "sandbox/kept_programs.h"

namespace hone::compile {
namespace fs = std::filesystem;
namespace {

std::vector<fs::path> toolkit_roots() {
  std::vector<fs::path> roots;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0')
      roots.emplace_back(value);
  }
  roots.emplace_back("/usr/local/cuda");
  if (const fs::path here = sandbox::executable_folder(); !here.empty()) {
    roots.push_back(here.parent_path().parent_path() / "cuda");  // build/release/bin -> build/cuda
    roots.push_back(here.parent_path() / "cuda");                // package: bin/../cuda
    roots.push_back(here.parent_path());                         // bin/../lib
  }
  return roots;
}

}  // namespace

std::vector<fs::path> library_folders() {
  std::vector<fs::path> folders;
  for (const auto& root : toolkit_roots()) {
    for (const char* sub : {"lib64", "lib", "targets/x86_64-linux/lib"}) {
      std::error_code ec;
      if (fs::is_directory(root / sub, ec)) folders.push_back(root / sub);
    }
  }
  return folders;
}

fs::path include_folder() {
  for (const auto& root : toolkit_roots()) {
    for (const char* sub : {"include", "targets/x86_64-linux/include"}) {
      std::error_code ec;
      if (fs::is_regular_file(root / sub / "cuda_fp16.h", ec)) return root / sub;
    }
  }
  return {};
}

std::vector<fs::path> include_path() {
  std::vector<fs::path> path;
  const fs::path include = include_folder();
  if (include.empty()) return path;
  path.push_back(include);
  std::error_code ec;
  if (fs::is_directory(include / "cccl", ec)) path.push_back(include / "cccl");
  return path;
}

std::string toolchain_identity(const fs::path& nvrtc) {
  std::vector<std::string> files;
  const auto note = [&](const fs::path& file) {
    struct stat about{};
    if (stat(file.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) return;
    files.push_back(fmt::format("{} {} {}.{}", file.string(), about.st_size, about.st_mtim.tv_sec,
                                about.st_mtim.tv_nsec));
  };
  std::error_code code;
  const fs::path library = fs::canonical(nvrtc, code);
  std::vector<fs::path> folders = include_path();
  if (!library.empty()) {
    note(library);
    for (const auto& entry : fs::directory_iterator(library.parent_path(), code)) {
      if (entry.path().filename().string().starts_with("libnvrtc-builtins")) note(entry.path());
    }
  }
  for (const auto& folder : folders) {
    for (const auto& entry : fs::directory_iterator(folder, code)) note(entry.path());
  }
  std::ranges::sort(files);
  return content_hash(fmt::format("{}", fmt::join(files, "\n")));
}

}  // namespace hone::compile
