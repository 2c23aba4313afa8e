#include "rewriters/rules/common/kernel_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "rewriters/syntax/edit.h"
#include "rewriters/syntax/parse.h"

namespace hone::rules {

using syntax::Expr;
using syntax::Function;
using syntax::SourceRange;
using syntax::Stmt;
using syntax::TranslationUnit;
using syntax::Type;
using syntax::Variable;

const syntax::KernelInfo* OpenProgram::find(std::string_view kernel) const {
  for (const auto& info : kernels) {
    if (info.function->name == kernel) return &info;
  }
  return nullptr;
}

Result<OpenProgram> open_program(const Program& program) {
  auto unit = syntax::parse(program);
  if (!unit) return std::unexpected(unit.error());
  auto kernels = syntax::analyse(**unit, program);
  if (!kernels) return std::unexpected(kernels.error());
  return OpenProgram{std::move(*unit), std::move(*kernels)};
}

const Expr& strip_casts(const Expr& expr) {
  const Expr* inner = &expr;
  while (inner->kind == Expr::Kind::kCast && !inner->operands.empty()) inner = inner->operands[0];
  return *inner;
}

const Variable* as_variable(const Expr& expr) {
  const Expr& inner = strip_casts(expr);
  return inner.kind == Expr::Kind::kVariable ? inner.variable : nullptr;
}

bool within(const Stmt* inner, const Stmt& outer) {
  for (; inner != nullptr; inner = inner->parent) {
    if (inner == &outer) return true;
  }
  return false;
}

bool within(const Expr& inner, const Stmt& outer) { return within(inner.statement, outer); }

std::vector<const Expr*> expressions_in(const Stmt& statement) {
  std::vector<const Expr*> result;
  if (statement.function == nullptr) return result;
  for (const Expr* expr : statement.function->all_expressions) {
    if (within(*expr, statement)) result.push_back(expr);
  }
  return result;
}

namespace {

/// The variable an lvalue is part of, and whether a pointer is followed on the way.
struct Root {
  const Variable* variable = nullptr;
  bool through_pointer = false;
};

Root root_of(const Expr& lvalue) {
  Root root;
  const Expr* expr = &lvalue;
  while (true) {
    switch (expr->kind) {
      case Expr::Kind::kVariable:
        root.variable = expr->variable;
        if (expr->variable == nullptr || expr->variable->storage != Variable::Storage::kLocal) {
          if (expr->variable == nullptr ||
              expr->variable->storage != Variable::Storage::kParameter) {
            root.through_pointer = true;
          }
        }
        return root;
      case Expr::Kind::kSubscript: {
        const Expr& base = strip_casts(*expr->operands[0]);
        if (base.type.kind == Type::Kind::kPointer) root.through_pointer = true;
        expr = expr->operands[0];
        break;
      }
      case Expr::Kind::kUnary:
        if (expr->text == "*") root.through_pointer = true;
        if (expr->operands.empty()) return root;
        expr = expr->operands[0];
        break;
      case Expr::Kind::kBinary:  // *(p + i)
      case Expr::Kind::kMember:
      case Expr::Kind::kCast:
        if (expr->operands.empty()) return root;
        expr = expr->operands[0];
        break;
      default:
        root.through_pointer = true;
        return root;
    }
  }
}

bool is_atomic_call(const Expr& expr) {
  return expr.kind == Expr::Kind::kCall &&
         (expr.text.starts_with("atomic") || expr.text.starts_with("__st"));
}

bool is_step(const Expr& expr) {
  return expr.kind == Expr::Kind::kUnary &&
         (expr.text.find("++") != std::string::npos || expr.text.find("--") != std::string::npos);
}

}  // namespace

std::optional<Write> write_of(const Expr& expr) {
  if (expr.kind == Expr::Kind::kAssign || is_step(expr)) {
    if (expr.operands.empty()) return std::nullopt;
    const Root root = root_of(*expr.operands[0]);
    return Write{expr.operands[0], root.variable, root.through_pointer, false};
  }
  if (is_atomic_call(expr)) {
    Write write{&expr, nullptr, true, true};
    if (!expr.operands.empty()) {
      const Expr* pointer = &strip_casts(*expr.operands[0]);
      if (pointer->kind == Expr::Kind::kUnary && pointer->text == "&") {
        pointer = pointer->operands[0];
      }
      write.root = root_of(*pointer).variable;
    }
    return write;
  }
  return std::nullopt;
}

bool writes_memory(const Stmt& statement) {
  for (const Expr* expr : expressions_in(statement)) {
    const auto write = write_of(*expr);
    if (write && write->memory) return true;
  }
  return false;
}

bool reads_memory(const Expr& expr) {
  if (expr.kind == Expr::Kind::kSubscript ||
      (expr.kind == Expr::Kind::kUnary && expr.text == "*")) {
    if (root_of(expr).through_pointer) return true;
  }
  if (expr.kind == Expr::Kind::kVariable && expr.variable != nullptr &&
      expr.variable->storage == Variable::Storage::kGlobal && !expr.variable->type.is_const) {
    return true;
  }
  if (expr.kind == Expr::Kind::kCall && expr.text.starts_with("__ld")) return true;
  if (expr.kind == Expr::Kind::kUnary && expr.text == "&") return false;
  for (const Expr* operand : expr.operands) {
    if (reads_memory(*operand)) return true;
  }
  return false;
}

bool is_pure_arithmetic(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::kIntLiteral:
    case Expr::Kind::kBoolLiteral:
    case Expr::Kind::kFloatLiteral:
    case Expr::Kind::kBuiltin:
      return true;
    case Expr::Kind::kVariable:
      return expr.variable != nullptr && !expr.variable->type.is_volatile &&
             (expr.variable->storage == Variable::Storage::kParameter ||
              expr.variable->storage == Variable::Storage::kLocal || expr.constant.has_value());
    case Expr::Kind::kBinary:
    case Expr::Kind::kCast:
    case Expr::Kind::kConditional:
      break;
    case Expr::Kind::kUnary:
      if (expr.text != "-" && expr.text != "+" && expr.text != "!" && expr.text != "~") {
        return false;
      }
      break;
    case Expr::Kind::kCall: {
      static constexpr std::array kPure = {"min",  "max",      "abs",    "umin",
                                           "umax", "__umul24", "__mul24"};
      bool known = false;
      for (const char* name : kPure) known = known || expr.text == name;
      if (!known) return false;
      break;
    }
    default:
      return false;
  }
  for (const Expr* operand : expr.operands) {
    if (!is_pure_arithmetic(*operand)) return false;
  }
  return true;
}

bool has_jumps(const Stmt& statement) {
  if (statement.function == nullptr) return true;
  for (const Stmt* inner : statement.function->all_statements) {
    switch (inner->kind) {
      case Stmt::Kind::kReturn:
      case Stmt::Kind::kBreak:
      case Stmt::Kind::kContinue:
      case Stmt::Kind::kOther:
        if (within(inner, statement)) return true;
        break;
      default:
        break;
    }
  }
  return false;
}

std::optional<std::string> render(const TranslationUnit& unit, const Function& function,
                                  const SourceRange& range, const Replacement& replacement) {
  if (!range.valid()) return std::nullopt;
  struct Piece {
    SourceRange range;
    std::string text;
  };
  std::vector<Piece> pieces;
  for (const Expr* expr : function.all_expressions) {
    if (expr->kind == Expr::Kind::kCast) continue;  // shares its text with the operand
    const bool placed = expr->range.valid();
    if (placed && !range.contains(expr->range)) continue;
    if (!placed && (expr->statement == nullptr || !range.contains(expr->statement->range))) {
      continue;
    }
    const bool covered = placed && std::ranges::any_of(pieces, [&](const Piece& piece) {
                           return piece.range.contains(expr->range);
                         });
    if (covered) continue;
    if (auto text = replacement(*expr)) {
      if (!placed) return std::nullopt;
      pieces.push_back({expr->range, std::move(*text)});
    }
  }
  std::ranges::sort(pieces, {}, [](const Piece& piece) { return piece.range.begin; });
  std::string result;
  int position = range.begin;
  for (const Piece& piece : pieces) {
    if (piece.range.begin < position) return std::nullopt;  // overlap: macro arguments used twice
    result += unit.text({position, piece.range.begin});
    result += piece.text;
    position = piece.range.end;
  }
  result += unit.text({position, range.end});
  return result;
}

std::string declarator(const Variable& variable, const std::string& extra, bool mutable_copy) {
  std::string extents;
  const Type* type = &variable.type;
  while (type->kind == Type::Kind::kArray && type->element != nullptr) {
    extents += fmt::format("[{}]", type->extent);
    type = type->element.get();
  }
  const std::string& spelling = mutable_copy && type->is_const ? type->name : type->spelling;
  return fmt::format("{} {}{}{}", spelling, variable.name, extra, extents);
}

Result<Program> without_unused_locals(Program program, const std::string& kernel) {
  while (true) {
    const auto unit = syntax::parse(program);
    if (!unit) return refused("the rewritten kernel does not parse: " + unit.error().message);
    const Function* function = (*unit)->find_function(kernel);
    if (function == nullptr) return fail(ErrorCode::kInternal, "the kernel vanished");
    syntax::Edits edits(**unit);
    for (const Variable* local : function->locals) {
      const bool plain = local->storage == Variable::Storage::kLocal &&
                         (local->type.is_integer() || local->type.is_pointer());
      if (!plain || local->reads > 0 || local->writes > 0 || local->address_taken) continue;
      const Stmt* statement = local->statement;
      if (statement == nullptr || statement->kind != Stmt::Kind::kDeclaration ||
          statement->variables.size() != 1 || !statement->range.valid() ||
          statement->parent == nullptr || statement->parent->kind != Stmt::Kind::kCompound) {
        continue;
      }
      if (local->init != nullptr && !is_pure_arithmetic(*local->init)) continue;
      edits.remove(statement->range);
    }
    if (edits.empty()) return program;
    auto source = edits.apply();
    if (!source) return std::unexpected(source.error());
    program.source = syntax::formatted(*source);
  }
}

std::string FreshNames::operator()(std::string_view stem) {
  std::string name = syntax::fresh_name(*unit_, stem);
  for (int suffix = 2; taken_.contains(name); ++suffix) {
    name = syntax::fresh_name(*unit_, fmt::format("{}_{}", stem, suffix));
  }
  taken_.insert(name);
  return name;
}

}  // namespace hone::rules
