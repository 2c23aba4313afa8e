// Cuts the device code out of a whole file: the kernels with every function, type, constant and
// macro that they need, in order, without conditional directives, host functions or includes.
// For read_unit.cpp alone: sees Clang.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Preprocessor.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "rewriters/syntax/host/read_unit.h"

namespace hone::syntax::host {

/// What the preprocessor did, kept while it runs.
struct MacroRecord {
  struct Use {
    unsigned offset = 0;  ///< in the main file
    std::string name;
    const clang::MacroInfo* macro = nullptr;
  };
  std::vector<Use> uses;
  std::set<unsigned> directives;                       ///< offsets of conditional directives
  std::vector<std::pair<unsigned, unsigned>> skipped;  ///< text that the conditions left out
};

[[nodiscard]] std::unique_ptr<clang::PPCallbacks> record_macros(clang::Preprocessor& preprocessor,
                                                                MacroRecord& record);

struct Cut {
  DeviceCode code;
  std::set<const clang::Decl*> kept;  ///< canonical declarations
  std::set<std::string> kept_macros;
  std::vector<std::pair<unsigned, unsigned>> ranges;  ///< of the main file, that were kept
};

[[nodiscard]] Cut cut_device_code(clang::ASTContext& context, clang::Preprocessor& preprocessor,
                                  const MacroRecord& record,
                                  const std::vector<const clang::FunctionDecl*>& kernels);

}  // namespace hone::syntax::host
