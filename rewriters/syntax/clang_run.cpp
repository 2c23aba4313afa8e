#include "rewriters/syntax/clang_run.h"

#include <clang/Basic/DiagnosticOptions.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <fmt/format.h>
#include <llvm/Support/VirtualFileSystem.h>

#include <memory>
#include <mutex>
#include <vector>

#include "rewriters/syntax/prelude.h"

namespace hone::syntax {
namespace {

constexpr char kSecondPreludeFile[] = "/hone/host.h";

using MemoryFiles = llvm::vfs::InMemoryFileSystem;

void add_file(MemoryFiles& files, const std::string& path, std::string_view text) {
  files.addFile(path, 0, llvm::MemoryBuffer::getMemBuffer(llvm::StringRef(text), path));
}

/// What every text may include; nobody changes it any more.
llvm::IntrusiveRefCntPtr<MemoryFiles> given_files() {
  static const auto given = [] {
    llvm::IntrusiveRefCntPtr<MemoryFiles> files(new MemoryFiles);
    add_file(*files, kPreludeFile, prelude_text());
    for (const VirtualFile& header : virtual_headers())
      add_file(*files, fmt::format("{}/{}", kHeaderFolder, header.name), header.text);
    return files;
  }();
  return given;
}

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> file_system(const ClangJob& job) {
  llvm::IntrusiveRefCntPtr<MemoryFiles> own(new MemoryFiles);
  if (!job.precompiled.empty()) add_file(*own, kPrecompiledFile, job.precompiled);
  if (!job.second_prelude.empty()) add_file(*own, kSecondPreludeFile, job.second_prelude);
  add_file(*own, kMainFile, job.source);
  llvm::IntrusiveRefCntPtr<llvm::vfs::OverlayFileSystem> both(
      new llvm::vfs::OverlayFileSystem(given_files()));
  both->pushOverlay(own);
  return both;
}

std::vector<std::string> arguments_for(const ClangJob& job) {
  std::vector<std::string> arguments = {"-triple",
                                        "nvptx64-nvidia-cuda",
                                        "-target-cpu",
                                        "sm_90",
                                        "-fsyntax-only",
                                        "-fcuda-is-device",
                                        "-x",
                                        "cuda",
                                        "-std=c++20",
                                        "-nostdsysteminc",
                                        "-nobuiltininc",
                                        "-fdeprecated-macro",
                                        "-w",
                                        "-fno-builtin",
                                        "-fgnuc-version=4.2.1",
                                        "-Wno-c++11-narrowing",
                                        "-Wno-register",
                                        "-ferror-limit",
                                        job.tolerant ? "0" : "20",
                                        "-internal-isystem",
                                        kHeaderFolder};
  // With modules, which C++20 turns on, Clang enters all of its built-in functions for each text
  // anew; without, they are read from the precompiled prelude.
  arguments.emplace_back("-fno-cxx-modules");
  if (job.tolerant) arguments.insert(arguments.end(), {"-fcxx-exceptions", "-fexceptions"});
  if (job.precompiled.empty()) {
    arguments.insert(arguments.end(), {"-include", kPreludeFile});
    if (!job.second_prelude.empty())
      arguments.insert(arguments.end(), {"-include", kSecondPreludeFile});
  } else {
    arguments.insert(arguments.end(), {"-include-pch", kPrecompiledFile, "-fno-validate-pch"});
  }
  arguments.emplace_back(kMainFile);
  return arguments;
}

/// What Clang makes of the arguments, but for defines: the same for all jobs of a kind. Null where
/// it refuses them.
std::shared_ptr<const clang::CompilerInvocation> invocation_for(const ClangJob& job) {
  static std::mutex mutex;
  static std::map<std::vector<std::string>, std::shared_ptr<const clang::CompilerInvocation>> known;
  std::vector<std::string> arguments = arguments_for(job);
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(arguments); found != known.end()) return found->second;
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  const auto made = std::make_shared<clang::CompilerInvocation>();
  clang::IgnoringDiagConsumer nobody;
  const auto engine = clang::CompilerInstance::createDiagnostics(
      new clang::DiagnosticOptions, &nobody, /*ShouldOwnClient=*/false);
  if (!clang::CompilerInvocation::CreateFromArgs(*made, pointers, *engine)) return nullptr;
  made->getFrontendOpts().DisableFree = false;
  known.emplace(std::move(arguments), made);
  return made;
}

}  // namespace

void run_clang(const ClangJob& job, clang::DiagnosticConsumer& diagnostics,
               clang::FrontendAction& action) {
  const auto known = invocation_for(job);
  if (known == nullptr) return;
  auto invocation = std::make_shared<clang::CompilerInvocation>(*known);
  for (const auto& [name, value] : job.defines)
    invocation->getPreprocessorOpts().addMacroDef(name + "=" + value);
  clang::CompilerInstance compiler;
  compiler.setInvocation(std::move(invocation));
  compiler.createDiagnostics(&diagnostics, /*ShouldOwnClient=*/false);
  compiler.createFileManager(file_system(job));
  compiler.setVerboseOutputStream(llvm::nulls());  // no "1 error generated"
  compiler.ExecuteAction(action);
}

}  // namespace hone::syntax
