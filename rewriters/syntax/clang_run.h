// Sets up Clang for one text in memory: target, options, the prelude and the virtual headers. For
// the files of rewriters/syntax that include Clang, and nobody else. Thread-safe.
#pragma once

#include <clang/Basic/Diagnostic.h>
#include <clang/Frontend/FrontendAction.h>

#include <map>
#include <string>

namespace hone::syntax {

inline constexpr char kMainFile[] = "/hone/kernel.cu";
inline constexpr char kPreludeFile[] = "/hone/prelude.h";
inline constexpr char kPrecompiledFile[] = "/hone/prelude.pch";
inline constexpr char kHeaderFolder[] = "/hone/include";

struct ClangJob {
  std::string source;
  std::map<std::string, std::string> defines;
  llvm::StringRef precompiled;  ///< the prelude as a PCH; empty: it is read as text
  std::string second_prelude;   ///< text after the prelude; not with `precompiled`
  bool tolerant = false;        ///< host code: exceptions are syntax, errors do not end the parse
};

/// Runs `action` over the source; what Clang says goes to `diagnostics`.
void run_clang(const ClangJob& job, clang::DiagnosticConsumer& diagnostics,
               clang::FrontendAction& action);

}  // namespace hone::syntax
