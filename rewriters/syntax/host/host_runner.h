// Follows a file's host code from main() with the values that stand in it, as a debugger would
// with default arguments: constants, allocations, copies and launches are kept with how they are
// made; what cannot be known is unknown. A loop that launches is followed once.
// For read_unit.cpp alone: sees Clang. Not thread-safe.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>
#include <clang/Basic/SourceManager.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "rewriters/syntax/host/host_value.h"

namespace hone::syntax::host {

class HostRunner {
 public:
  /// `guesses`: values for names that nothing says, instead of 1024.
  HostRunner(clang::ASTContext& context, UnitFacts& facts,
             const std::map<std::string, std::int64_t>& guesses)
      : context_(context), facts_(facts), guesses_(guesses) {}

  /// From main(), first without arguments, then with arguments of which nothing is known. Without
  /// main(): from every host function that launches and that no other one calls.
  void run();

  /// Where the constant behind facts.names[i] stands: a declaration, or a macro's name.
  using Origin = std::variant<const clang::Decl*, std::string>;
  [[nodiscard]] const std::vector<Origin>& origins() const { return origins_; }
  [[nodiscard]] const std::vector<const clang::FunctionDecl*>& launched() const {
    return launched_;
  }
  /// Variables of the device that the host copies to, and where it does.
  [[nodiscard]] const std::map<const clang::VarDecl*, std::string>& filled_symbols() const {
    return filled_symbols_;
  }

 private:
  enum class Flow { kNext, kBreak, kContinue, kReturn, kExit };
  struct Frame {
    std::map<const clang::VarDecl*, CellPtr> variables;
    CellPtr self;
    Value result;
    CellPtr result_place;  ///< of a function that returns a reference
    bool by_reference = false;
  };

  // host_runner.cpp: functions and entry
  void reset();
  void run_entry(const clang::FunctionDecl& function, bool arguments_known);
  Value call(const clang::FunctionDecl& function, std::vector<Value> arguments,
             std::vector<CellPtr> references, CellPtr self);
  Value unknown_parameter(const clang::ParmVarDecl& parameter);
  bool interesting(const clang::Stmt* statement);
  bool interesting(const clang::FunctionDecl* function);
  bool launches(const clang::Stmt* statement);
  bool ends_program(const clang::Stmt* statement);
  bool spend();

  // host_statements.cpp
  Flow execute(const clang::Stmt* statement);
  void assume_equal(const clang::Expr* condition);
  Flow run_if(const clang::IfStmt& statement);
  Flow run_switch(const clang::SwitchStmt& statement);
  Flow run_loop(const clang::Stmt* init, const clang::Expr* condition, const clang::Expr* step,
                const clang::Stmt* body, bool body_first);
  void declare(const clang::VarDecl& variable);
  void forget_assigned(const clang::Stmt* statement);
  /// True, false, or unknown. Sets `from_arguments` where the program's arguments decide.
  std::optional<bool> truth(const clang::Expr* condition, bool* from_arguments = nullptr);

  // host_expressions.cpp
  Value eval(const clang::Expr* expression);
  Value eval_plain(const clang::Expr* expression);
  Value eval_cast(const clang::CastExpr& cast);
  Value eval_construct(const clang::CXXConstructExpr& construct, CellPtr into);
  void init_record(const CellPtr& cell, const clang::InitListExpr& list);
  void init_array(const CellPtr& cell, const clang::InitListExpr& list);
  std::optional<Value> named_macro(const clang::Expr* expression);
  /// A name for a constant that has none yet.
  Value named(Value value, const std::string& name, Origin origin, clang::SourceLocation where);
  Value guess(const std::string& name, Origin origin, clang::SourceLocation where);
  bool has_guess(const HostInt& value) const;
  HostInt array_bytes(clang::QualType type);

  // host_arithmetic.cpp
  Value convert(Value value, clang::QualType type);
  Value arithmetic(clang::BinaryOperatorKind op, const Value& a, const Value& b, bool real);
  Value element_of(const Value& pointer, const Value& index, clang::QualType element);
  Value eval_binary(const clang::BinaryOperator& binary);
  Value eval_unary(const clang::UnaryOperator& unary);

  // host_places.cpp
  int memory_of(const Value& pointer, const clang::Expr* expression);
  CellPtr cell_at(const Value& pointer, bool& is_memory);
  CellPtr place(const clang::Expr* expression);
  Value read(const clang::Expr* lvalue);
  void store_cell(const CellPtr& cell, Value value);
  void store(const clang::Expr* lvalue, Value value);

  // host_calls.cpp
  Value eval_call(const clang::CallExpr& call);
  std::optional<Value> known_function(const std::string& name, const clang::CallExpr& call);
  void launch(const clang::FunctionDecl& kernel, const Value& grid, const Value& block,
              const Value& shared, const std::vector<Value>& arguments,
              const std::vector<std::string>& texts, clang::SourceLocation where);
  void add_argument(std::vector<HostArgument>& all, const Value& value, clang::QualType type,
                    const std::string& text);
  Value allocate(HostInt bytes, std::string name, bool on_host, clang::SourceLocation where);
  void allocate_into(const clang::CallExpr& call, HostInt bytes, bool on_host);
  void copy(const clang::CallExpr& call, int kind_argument);
  void event(HostEvent::Kind kind, int index, HostFill fill = {});
  std::string pointer_name(const clang::Expr* expression) const;

  std::string where(clang::SourceLocation location) const;
  std::string text_of(const clang::Expr* expression) const;

  clang::ASTContext& context_;
  UnitFacts& facts_;
  const std::map<std::string, std::int64_t>& guesses_;
  std::vector<Origin> origins_;
  std::vector<const clang::FunctionDecl*> launched_;
  std::map<const clang::VarDecl*, std::string> filled_symbols_;
  std::map<const clang::VarDecl*, CellPtr> globals_;
  std::vector<Frame> frames_;
  std::map<int, CellPtr> contents_;                     ///< of memory, by byte offset
  std::map<const clang::FunctionDecl*, int> interest_;  ///< bits; absent: not looked at
  CellPtr returned_place_;
  bool arguments_known_ = true;
  bool blind_ = false;  ///< inside a loop that is looked at once for what it assigns
  int loop_launches_ = 0;
  int steps_ = 0;
  clang::FileID in_macro_;
};

}  // namespace hone::syntax::host
