// What host code reads and writes, and where: variables, members, elements, memory. See
// host_runner.h.
#include <utility>

#include "rewriters/syntax/host/host_runner.h"

namespace hone::syntax::host {
namespace {

using clang::dyn_cast;
using clang::isa;

}  // namespace

CellPtr HostRunner::cell_at(const Value& pointer, bool& is_memory) {
  is_memory = pointer.kind == Value::Kind::kMemory;
  if (is_memory) {
    auto& all = contents_[pointer.memory];
    if (all == nullptr) all = std::make_shared<Cell>();
    auto& cell = all->elements[pointer.integer != nullptr ? pointer.integer->value : -1];
    if (cell == nullptr) cell = std::make_shared<Cell>();
    cell->owner = pointer.memory;
    return cell;
  }
  if (pointer.kind != Value::Kind::kCell || pointer.cell == nullptr) return nullptr;
  if (pointer.element == 0 && pointer.cell->elements.empty()) return pointer.cell;
  if (pointer.element < 0) return nullptr;
  auto& cell = pointer.cell->elements[pointer.element];
  if (cell == nullptr) cell = std::make_shared<Cell>();
  cell->owner = pointer.cell->memory;
  return cell;
}

int HostRunner::memory_of(const Value& pointer, const clang::Expr* expression) {
  if (pointer.kind == Value::Kind::kMemory) return pointer.memory;
  if (pointer.kind != Value::Kind::kCell || pointer.cell == nullptr) return -1;
  if (pointer.cell->memory < 0) {
    // An array of the host: a buffer like any other.
    const clang::Expr* plain = expression->IgnoreParenCasts();
    HostInt bytes;
    if (plain->getType()->isConstantArrayType()) bytes = array_bytes(plain->getType());
    Value memory = allocate(bytes, pointer_name(plain), true, expression->getBeginLoc());
    pointer.cell->memory = memory.memory;
    if (is_number(pointer.cell->value)) {
      const double x = number(pointer.cell->value);
      facts_.buffers[static_cast<std::size_t>(memory.memory)].fill =
          HostFill{HostFill::Kind::kConstant, x, x};
    }
    for (const auto& [index, element] : pointer.cell->elements) {
      if (element == nullptr || element == pointer.cell || !is_number(element->value)) continue;
      const double x = number(element->value);
      facts_.buffers[static_cast<std::size_t>(memory.memory)].fill =
          HostFill{HostFill::Kind::kConstant, x, x};
    }
  }
  return pointer.cell->memory;
}

CellPtr HostRunner::place(const clang::Expr* expression) {
  expression = expression->IgnoreParens();
  if (const auto* reference = dyn_cast<clang::DeclRefExpr>(expression)) {
    const auto* variable = dyn_cast<clang::VarDecl>(reference->getDecl());
    if (variable == nullptr) return nullptr;
    if (!frames_.empty()) {
      const auto found = frames_.back().variables.find(variable);
      if (found != frames_.back().variables.end()) return found->second;
    }
    if (!variable->hasGlobalStorage()) return nullptr;
    const clang::VarDecl* definition = variable->getDefinition(context_);
    if (definition == nullptr) definition = variable;
    const auto found = globals_.find(definition);
    if (found != globals_.end()) return found->second;
    if (frames_.empty()) return nullptr;
    declare(*definition);
    return globals_[definition];
  }
  if (const auto* member = dyn_cast<clang::MemberExpr>(expression)) {
    CellPtr object;
    if (member->isArrow()) {
      bool is_memory = false;
      object = cell_at(eval(member->getBase()), is_memory);
    } else {
      object = place(member->getBase());
      if (object == nullptr) {
        const Value value = eval(member->getBase());
        if (value.kind == Value::Kind::kRecord) object = value.cell;
      }
    }
    if (object == nullptr) return nullptr;
    auto& cell = object->members[member->getMemberDecl()];
    if (cell == nullptr) cell = std::make_shared<Cell>();
    return cell;
  }
  if (const auto* subscript = dyn_cast<clang::ArraySubscriptExpr>(expression)) {
    bool is_memory = false;
    const Value base = eval(subscript->getBase());
    return cell_at(element_of(base, eval(subscript->getIdx()), expression->getType()), is_memory);
  }
  if (const auto* unary = dyn_cast<clang::UnaryOperator>(expression);
      unary != nullptr && unary->getOpcode() == clang::UO_Deref) {
    bool is_memory = false;
    return cell_at(eval(unary->getSubExpr()), is_memory);
  }
  if (const auto* cast = dyn_cast<clang::CastExpr>(expression)) return place(cast->getSubExpr());
  if (const auto* temporary = dyn_cast<clang::MaterializeTemporaryExpr>(expression))
    return place(temporary->getSubExpr());
  if (isa<clang::CXXThisExpr>(expression)) return frames_.empty() ? nullptr : frames_.back().self;
  if (isa<clang::CallExpr>(expression)) {
    returned_place_ = nullptr;
    eval(expression);
    return std::exchange(returned_place_, nullptr);
  }
  return nullptr;
}

Value HostRunner::read(const clang::Expr* lvalue) {
  if (const auto* reference = dyn_cast<clang::DeclRefExpr>(lvalue)) {
    if (const auto* function = dyn_cast<clang::FunctionDecl>(reference->getDecl())) {
      Value value;
      value.kind = Value::Kind::kFunction;
      value.function = function;
      return value;
    }
    if (const auto* item = dyn_cast<clang::EnumConstantDecl>(reference->getDecl()))
      return named(int_value(constant(item->getInitVal().getExtValue())), item->getNameAsString(),
                   static_cast<const clang::Decl*>(item), item->getLocation());
  }
  const CellPtr cell = place(lvalue);
  if (cell == nullptr) {
    clang::Expr::EvalResult result;
    if (!lvalue->isValueDependent() && lvalue->getType()->isIntegerType() &&
        lvalue->EvaluateAsInt(result, context_))
      return int_value(constant(result.Val.getInt().getExtValue()));
    return {};
  }
  if (lvalue->getType()->isRecordType()) {
    Value value;
    value.kind = Value::Kind::kRecord;
    value.cell = deep_copy(cell);
    return value;
  }
  return cell->value;
}

void HostRunner::store_cell(const CellPtr& cell, Value value) {
  if (value.kind == Value::Kind::kRecord && value.cell != nullptr) {
    const CellPtr copy = deep_copy(value.cell);
    cell->members = copy->members;
    cell->elements = copy->elements;
    return;
  }
  cell->value = std::move(value);
}

void HostRunner::store(const clang::Expr* lvalue, Value value) {
  lvalue = lvalue->IgnoreParenImpCasts();
  const CellPtr cell = place(lvalue);
  if (cell == nullptr) return;
  int owner = cell->owner;
  if (const auto* member = dyn_cast<clang::MemberExpr>(lvalue); member != nullptr && owner < 0) {
    // p[i].x = ...: the memory that p points to is written.
    const clang::Expr* object = member->getBase()->IgnoreParenImpCasts();
    if (const CellPtr outer = isa<clang::ArraySubscriptExpr>(object) ? place(object) : nullptr)
      owner = outer->owner;
  }
  if (owner >= 0) {
    HostFill fill = value.fill;
    if (is_number(value) && fill.kind == HostFill::Kind::kUnknown)
      fill = {HostFill::Kind::kConstant, number(value), number(value)};
    event(HostEvent::Kind::kWrite, owner, fill);
  }
  store_cell(cell, std::move(value));
}

}  // namespace hone::syntax::host
