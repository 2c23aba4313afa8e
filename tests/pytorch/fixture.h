// The modules that record.py recorded: tests/pytorch/fixtures/NAME.pt2, with PyTorch's answers
// among the members.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "candidates/pytorch/archive.h"

namespace hone::pytorch {

inline std::filesystem::path fixtures_folder() {
  return std::filesystem::path(HONE_SOURCE_DIR) / "tests/pytorch/fixtures";
}

/// The modules that are recorded. None where there is no folder: no test begins before main().
inline std::vector<std::string> fixture_names() {
  std::vector<std::string> names;
  std::error_code no_folder;
  for (const auto& entry : std::filesystem::directory_iterator(fixtures_folder(), no_folder)) {
    if (entry.path().extension() == ".pt2") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

/// The file of a module. A test that needs one that is missing fails by the exception's one line.
inline std::filesystem::path fixture_file(const std::string& name) {
  auto file = fixtures_folder() / (name + ".pt2");
  if (!std::filesystem::exists(file)) {
    throw std::runtime_error("tests/pytorch/fixtures/" + name +
                             ".pt2 is missing: 'tests/pytorch/record.py " + name +
                             "' records it, with PyTorch");
  }
  return file;
}

inline Archive open_fixture(const std::string& name) {
  auto archive = Archive::open(fixture_file(name));
  if (!archive) throw std::runtime_error(archive.error().message);
  return *std::move(archive);
}

inline std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

/// A folder that goes with it.
class Folder {
 public:
  explicit Folder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("hone_pytorch_" + name + "_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace hone::pytorch
