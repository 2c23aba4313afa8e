// Small tools shared by rules: opening a program, walking a kernel, and printing a piece of it with
// some expressions replaced. Everything is const and may be used from any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/result.h"
#include "rewriters/core/rewriter.h"
#include "rewriters/syntax/analysis.h"
#include "rewriters/syntax/ast.h"

namespace hone::rules {

/// A parsed and analysed program. The infos point into `program`, which the caller keeps alive.
struct OpenProgram {
  std::shared_ptr<const syntax::TranslationUnit> unit;
  std::vector<syntax::KernelInfo> kernels;

  [[nodiscard]] const syntax::KernelInfo* find(std::string_view kernel) const;
};
[[nodiscard]] Result<OpenProgram> open_program(const Program& program);

/// Casts removed; `expr` itself when it is not a cast.
[[nodiscard]] const syntax::Expr& strip_casts(const syntax::Expr& expr);
/// The variable that `expr` names, or null.
[[nodiscard]] const syntax::Variable* as_variable(const syntax::Expr& expr);
/// Is `inner` inside `outer` (or the same)?
[[nodiscard]] bool within(const syntax::Stmt* inner, const syntax::Stmt& outer);
[[nodiscard]] bool within(const syntax::Expr& inner, const syntax::Stmt& outer);

/// All expressions below a statement, initialisers and loop headers included, pre-order.
[[nodiscard]] std::vector<const syntax::Expr*> expressions_in(const syntax::Stmt& statement);

/// What one expression writes by itself: the target of an assignment or of ++ and --, the
/// location of an atomic. Null when it writes nothing.
struct Write {
  const syntax::Expr* target = nullptr;    ///< lvalue; for a call the call itself
  const syntax::Variable* root = nullptr;  ///< variable at the bottom of the lvalue; may be null
  bool memory = false;                     ///< through a pointer, or to shared or global storage
  bool atomic = false;
};
[[nodiscard]] std::optional<Write> write_of(const syntax::Expr& expr);
/// Does any expression of the statement write memory that other threads may see?
[[nodiscard]] bool writes_memory(const syntax::Stmt& statement);
/// Does the expression load from memory (not from local arrays)?
[[nodiscard]] bool reads_memory(const syntax::Expr& expr);
/// No load, no call but a few integer intrinsics, no write: may be evaluated again anywhere.
[[nodiscard]] bool is_pure_arithmetic(const syntax::Expr& expr);
/// Contains return, break, continue or anything that we do not know how to move.
[[nodiscard]] bool has_jumps(const syntax::Stmt& statement);

/// `replacement` returns the text for an expression, or nothing to look inside it.
using Replacement = std::function<std::optional<std::string>(const syntax::Expr&)>;

/// Source text of a range with expressions replaced. Empty when text to be replaced is in a macro.
[[nodiscard]] std::optional<std::string> render(const syntax::TranslationUnit& unit,
                                                const syntax::Function& function,
                                                const syntax::SourceRange& range,
                                                const Replacement& replacement);

/// "float acc" or "float acc[4]" for a local variable; `extra` goes before its own extents
/// ("[jy][jx]" style), `mutable_copy` drops a top-level const.
[[nodiscard]] std::string declarator(const syntax::Variable& variable, const std::string& extra,
                                     bool mutable_copy);

/// Drops integer and pointer locals that nothing reads any more. Errors: the program, which a rule
/// has just written, does not parse.
[[nodiscard]] Result<Program> without_unused_locals(Program program, const std::string& kernel);

/// Names that do not occur in a unit, distinct from each other too.
class FreshNames {
 public:
  explicit FreshNames(const syntax::TranslationUnit& unit) : unit_(&unit) {}
  [[nodiscard]] std::string operator()(std::string_view stem);

 private:
  const syntax::TranslationUnit* unit_;
  std::set<std::string> taken_;
};

}  // namespace hone::rules
