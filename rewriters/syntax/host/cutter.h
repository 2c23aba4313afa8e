// How device_code.cpp and needed_declarations.cpp cut kernels out of a file: first which
// declarations they need, then the text of these. For the two alone: sees Clang.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/Lex/Preprocessor.h>

#include <set>
#include <string>
#include <vector>

#include "rewriters/syntax/host/device_code.h"

namespace hone::syntax::host {

/// False for a host function: a record that is kept loses its own.
[[nodiscard]] bool runs_on_device(const clang::FunctionDecl& function);

class Cutter {
 public:
  Cutter(clang::ASTContext& context, clang::Preprocessor& preprocessor, const MacroRecord& record)
      : context_(context),
        preprocessor_(preprocessor),
        sources_(context.getSourceManager()),
        record_(record),
        text_(sources_.getBufferData(sources_.getMainFileID())) {}

  Cut run(const std::vector<const clang::FunctionDecl*>& kernels);

 private:
  struct Piece {
    unsigned begin = 0;
    unsigned end = 0;
    std::string wrapper;  ///< "namespace a { namespace b {"
    int closing = 0;      ///< braces
    bool is_macro = false;
    std::string name;  ///< of a macro
  };
  struct Edit {
    unsigned begin = 0;
    unsigned end = 0;
    std::string text;
  };

  // needed_declarations.cpp
  void close_over(const std::vector<const clang::FunctionDecl*>& kernels);
  const clang::Decl* outermost(const clang::Decl* decl) const;
  void keep(const clang::Decl* decl);
  void outside(const clang::Decl* decl);
  std::string header_of(clang::SourceLocation location) const;
  std::string where(clang::SourceLocation location) const;

  bool in_main(clang::SourceLocation location) const {
    return location.isValid() &&
           sources_.getFileID(sources_.getExpansionLoc(location)) == sources_.getMainFileID();
  }
  unsigned offset(clang::SourceLocation location) const {
    return sources_.getFileOffset(sources_.getExpansionLoc(location));
  }

  // device_code.cpp
  Piece piece_of(const clang::Decl* decl) const;
  unsigned statement_end(unsigned at) const;
  void wrap(const clang::Decl* decl, Piece& piece) const;
  void add_macros();
  void add_edits();
  std::string emitted(const Piece& piece) const;
  std::string definition_text(const std::string& name, const clang::MacroInfo& macro) const;
  void initialise(const clang::VarDecl& variable);
  void without_std(const clang::VarDecl& variable);

  clang::ASTContext& context_;
  clang::Preprocessor& preprocessor_;
  clang::SourceManager& sources_;
  const MacroRecord& record_;
  llvm::StringRef text_;
  Cut cut_;
  std::vector<const clang::FunctionDecl*> kernels_;  ///< templates as their instances
  std::set<const clang::Decl*> outer_;               ///< outermost declarations that are kept
  std::vector<Piece> pieces_;
  std::vector<Edit> edits_;
  std::set<std::string> headers_;
  std::vector<std::string> prologue_;
  std::set<std::string> prologue_names_;
};

}  // namespace hone::syntax::host
