#include "rewriters/syntax/clang_run.h"

#include <clang/Basic/DiagnosticOptions.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <fmt/format.h>
#include <llvm/Support/VirtualFileSystem.h>

#include <vector>

#include "rewriters/syntax/prelude.h"

namespace hone::syntax {
namespace {

constexpr char kSecondPreludeFile[] = "/hone/host.h";

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> file_system(const ClangJob& job) {
  llvm::IntrusiveRefCntPtr<llvm::vfs::InMemoryFileSystem> files(new llvm::vfs::InMemoryFileSystem);
  const auto add = [&](const std::string& path, std::string_view text) {
    files->addFile(path, 0, llvm::MemoryBuffer::getMemBuffer(llvm::StringRef(text), path));
  };
  add(kPreludeFile, prelude_text());
  for (const VirtualFile& header : virtual_headers()) {
    add(fmt::format("{}/{}", kHeaderFolder, header.name), header.text);
  }
  if (!job.precompiled.empty()) add(kPrecompiledFile, job.precompiled);
  if (!job.second_prelude.empty()) add(kSecondPreludeFile, job.second_prelude);
  add(kMainFile, job.source);
  return files;
}

}  // namespace

void run_clang(const ClangJob& job, clang::DiagnosticConsumer& diagnostics,
               clang::FrontendAction& action) {
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
  if (job.tolerant) arguments.insert(arguments.end(), {"-fcxx-exceptions", "-fexceptions"});
  if (job.precompiled.empty()) {
    arguments.insert(arguments.end(), {"-include", kPreludeFile});
    if (!job.second_prelude.empty())
      arguments.insert(arguments.end(), {"-include", kSecondPreludeFile});
  } else {
    arguments.insert(arguments.end(), {"-include-pch", kPrecompiledFile, "-fno-validate-pch"});
  }
  for (const auto& [name, value] : job.defines) {
    arguments.push_back("-D");
    arguments.push_back(name + "=" + value);
  }
  arguments.push_back(kMainFile);
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());

  clang::CompilerInstance compiler;
  compiler.createDiagnostics(&diagnostics, /*ShouldOwnClient=*/false);
  if (!clang::CompilerInvocation::CreateFromArgs(compiler.getInvocation(), pointers,
                                                 compiler.getDiagnostics())) {
    return;
  }
  // CreateFromArgs left its diagnostics options behind; the engine must follow them (-w).
  compiler.createDiagnostics(&diagnostics, false);
  compiler.getFrontendOpts().DisableFree = false;
  compiler.createFileManager(file_system(job));
  compiler.setVerboseOutputStream(llvm::nulls());  // no "1 error generated"
  compiler.ExecuteAction(action);
}

}  // namespace hone::syntax
