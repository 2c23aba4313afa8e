// A task passes pointers and scalars only. A kernel's parameter that is a record by value becomes
// its members: `Params p` => `int p_n, float* p_x`, and `Params p; p.n = p_n; …` begins the body.
// For device_code.cpp alone: sees Clang.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>

#include <string>
#include <vector>

namespace hone::syntax::host {

struct SpreadRecords {
  struct Edit {
    unsigned begin;  ///< offsets in the main file
    unsigned end;
    std::string text;
  };
  std::vector<Edit> edits;
  std::vector<std::string> notes;
  std::string problem;  ///< why a parameter cannot be spread; empty: all can
};

/// `kernel`: a definition, or a template's pattern. `instances`: those of it that are launched,
/// which say what a parameter of a template's own type is.
[[nodiscard]] SpreadRecords spread_records(
    clang::ASTContext& context, const clang::FunctionDecl& kernel,
    const std::vector<const clang::FunctionDecl*>& instances);

}  // namespace hone::syntax::host
