// Arithmetic of host code, and how sizes are made by it: see host_runner.h.
#include <cmath>
#include <utility>

#include "rewriters/syntax/host/host_runner.h"

namespace hone::syntax::host {
namespace {

using clang::dyn_cast;
using clang::isa;
using Op = HostExpr::Op;

bool is_zero(const Value& value) { return value.is_int() && value.integer->value == 0; }

Value truth_value(bool is_true, bool from_arguments) {
  Value value = int_value(constant(is_true ? 1 : 0));
  value.from_arguments = from_arguments;
  return value;
}

/// What a random value becomes: `rand() % 10`, `rand() / (float)RAND_MAX * 2 - 1`.
HostFill scaled(HostFill fill, clang::BinaryOperatorKind op, const Value& other, bool fill_left) {
  if (!is_number(other)) return {};
  const double c = number(other);
  const auto apply = [&](double x) {
    switch (op) {
      case clang::BO_Add:
        return x + c;
      case clang::BO_Sub:
        return fill_left ? x - c : c - x;
      case clang::BO_Mul:
        return x * c;
      default:
        return fill_left && c != 0 ? x / c : x;
    }
  };
  if (op == clang::BO_Rem || op == clang::BO_And) {
    if (!fill_left || c < 1) return {};
    return {HostFill::Kind::kIntegers, 0, op == clang::BO_Rem ? c - 1 : c};
  }
  if (op != clang::BO_Add && op != clang::BO_Sub && op != clang::BO_Mul && op != clang::BO_Div)
    return {};
  double low = apply(fill.low);
  double high = apply(fill.high);
  if (low > high) std::swap(low, high);
  const bool whole = fill.kind == HostFill::Kind::kIntegers && other.is_int() &&
                     !(op == clang::BO_Div && c > fill.high);
  return {whole ? HostFill::Kind::kIntegers : HostFill::Kind::kUniform, low, high};
}

}  // namespace

Value HostRunner::convert(Value value, clang::QualType type) {
  if (type->isDependentType()) return value;
  if (type->isIntegerType() && value.kind == Value::Kind::kReal) {
    const double whole = std::trunc(value.real);
    if (value.numerator != nullptr && value.denominator != nullptr)
      return int_value(combine(Op::kDiv, value.numerator, value.denominator));
    if (std::abs(whole) > 9e18) return {};
    return int_value(constant(static_cast<std::int64_t>(whole)));
  }
  if (type->isFloatingType() && value.is_int()) {
    Value result = real_value(static_cast<double>(value.integer->value));
    result.numerator = value.integer;
    result.denominator = constant(1);
    result.fill = value.fill;
    result.from_arguments = value.from_arguments;
    return result;
  }
  return value;
}

Value HostRunner::arithmetic(clang::BinaryOperatorKind op, const Value& a, const Value& b,
                             bool real) {
  if (a.fill.kind != HostFill::Kind::kUnknown && a.kind == Value::Kind::kUnknown) {
    Value value;
    value.fill = scaled(a.fill, op, b, true);
    return value;
  }
  if (b.fill.kind != HostFill::Kind::kUnknown && b.kind == Value::Kind::kUnknown) {
    Value value;
    value.fill = scaled(b.fill, op, a, false);
    return value;
  }
  // Pointer plus integer, in bytes, is in element_of(); here only numbers.
  if (!is_number(a) || !is_number(b)) return {};
  if (real) {
    Value result = real_value(0);
    switch (op) {
      case clang::BO_Add:
        result.real = number(a) + number(b);
        return result;
      case clang::BO_Sub:
        result.real = number(a) - number(b);
        return result;
      case clang::BO_Mul:
        result.real = number(a) * number(b);
        if (a.numerator && b.numerator) {
          result.numerator = combine(Op::kMul, a.numerator, b.numerator);
          result.denominator = combine(Op::kMul, a.denominator, b.denominator);
        }
        return result;
      case clang::BO_Div:
        result.real = number(a) / number(b);
        if (a.numerator == nullptr) return result;
        if (b.numerator != nullptr) {
          result.numerator = combine(Op::kMul, a.numerator, b.denominator);
          result.denominator = combine(Op::kMul, a.denominator, b.numerator);
        } else if (b.real == std::trunc(b.real) && b.real > 0 && b.real < 1e9) {
          result.numerator = a.numerator;
          result.denominator =
              combine(Op::kMul, a.denominator, constant(static_cast<std::int64_t>(b.real)));
        }
        return result;
      case clang::BO_LT:
        return int_value(constant(number(a) < number(b)));
      case clang::BO_GT:
        return int_value(constant(number(a) > number(b)));
      case clang::BO_LE:
        return int_value(constant(number(a) <= number(b)));
      case clang::BO_GE:
        return int_value(constant(number(a) >= number(b)));
      case clang::BO_EQ:
        return int_value(constant(number(a) == number(b)));
      case clang::BO_NE:
        return int_value(constant(number(a) != number(b)));
      default:
        return {};
    }
  }
  if (!a.is_int() || !b.is_int()) return {};
  const std::int64_t x = a.integer->value;
  const std::int64_t y = b.integer->value;
  const auto plain = [&](std::int64_t value) {
    // A comparison of a guess is a guess, too.
    return has_guess(a.integer) || has_guess(b.integer) ? Value{} : int_value(constant(value));
  };
  const auto bits = [&](std::int64_t value) { return int_value(constant(value)); };
  switch (op) {
    case clang::BO_Add:
      // (n - 1) / d + 1
      for (const auto& [part, one] : {std::pair{a.integer, y}, std::pair{b.integer, x}}) {
        if (one == 1 && part->op == Op::kDiv && part->operands[0]->op == Op::kSub &&
            part->operands[0]->operands[1]->op == Op::kConstant &&
            part->operands[0]->operands[1]->value == 1)
          return int_value(
              combine(Op::kCeilDiv, part->operands[0]->operands[0], part->operands[1]));
      }
      return int_value(combine(Op::kAdd, a.integer, b.integer));
    case clang::BO_Sub:
      return int_value(combine(Op::kSub, a.integer, b.integer));
    case clang::BO_Mul:
      return int_value(combine(Op::kMul, a.integer, b.integer));
    case clang::BO_Div:
      return int_value(combine(Op::kDiv, a.integer, b.integer));
    case clang::BO_Rem:
      return int_value(combine(Op::kMod, a.integer, b.integer));
    case clang::BO_Shl:
      if (y < 0 || y > 62) return {};
      return int_value(combine(Op::kMul, a.integer, constant(std::int64_t{1} << y)));
    case clang::BO_Shr:
      if (y < 0 || y > 62) return {};
      return int_value(combine(Op::kDiv, a.integer, constant(std::int64_t{1} << y)));
    case clang::BO_And:
      return bits(x & y);
    case clang::BO_Or:
      return bits(x | y);
    case clang::BO_Xor:
      return bits(x ^ y);
    case clang::BO_LT:
      return plain(x < y);
    case clang::BO_GT:
      return plain(x > y);
    case clang::BO_LE:
      return plain(x <= y);
    case clang::BO_GE:
      return plain(x >= y);
    case clang::BO_EQ:
      return plain(x == y);
    case clang::BO_NE:
      return plain(x != y);
    default:
      return {};
  }
}

Value HostRunner::element_of(const Value& pointer, const Value& index, clang::QualType element) {
  Value result = pointer;
  if (pointer.kind == Value::Kind::kMemory) {
    const std::int64_t size = element->isIncompleteType() || element->isDependentType()
                                  ? 1
                                  : context_.getTypeSizeInChars(element).getQuantity();
    result.integer =
        index.is_int() && pointer.integer
            ? combine(Op::kAdd, pointer.integer, combine(Op::kMul, index.integer, constant(size)))
            : nullptr;
  } else if (pointer.kind == Value::Kind::kCell) {
    result.element =
        index.is_int() && pointer.element >= 0 ? pointer.element + index.integer->value : -1;
  } else {
    return {};
  }
  return result;
}

Value HostRunner::eval_binary(const clang::BinaryOperator& binary) {
  const clang::BinaryOperatorKind op = binary.getOpcode();
  const clang::Expr* left = binary.getLHS();
  const clang::Expr* right = binary.getRHS();
  if (op == clang::BO_Comma) {
    eval(left);
    return eval(right);
  }
  if (op == clang::BO_Assign) {
    Value value = eval(right);
    const clang::Expr* target = left->IgnoreParenImpCasts();
    const bool number_type = left->getType()->isIntegerType() && !left->getType()->isBooleanType();
    if (!value.is_int() && number_type && !blind_ && value.fill.kind == HostFill::Kind::kUnknown) {
      const clang::ValueDecl* decl = nullptr;
      if (const auto* reference = dyn_cast<clang::DeclRefExpr>(target)) decl = reference->getDecl();
      if (const auto* member = dyn_cast<clang::MemberExpr>(target)) decl = member->getMemberDecl();
      if (decl != nullptr)
        value = guess(decl->getNameAsString(), static_cast<const clang::Decl*>(decl),
                      binary.getOperatorLoc());
    }
    if (const auto* reference = dyn_cast<clang::DeclRefExpr>(target);
        reference != nullptr && left->getType()->isIntegerType())
      value = named(std::move(value), reference->getDecl()->getNameAsString(),
                    static_cast<const clang::Decl*>(reference->getDecl()), binary.getOperatorLoc());
    if (const auto* member = dyn_cast<clang::MemberExpr>(target);
        member != nullptr && left->getType()->isIntegerType())
      value =
          named(std::move(value), member->getMemberDecl()->getNameAsString(),
                static_cast<const clang::Decl*>(member->getMemberDecl()), binary.getOperatorLoc());
    if (value.kind == Value::Kind::kMemory && value.memory >= 0 &&
        facts_.buffers[static_cast<std::size_t>(value.memory)].name.empty())
      facts_.buffers[static_cast<std::size_t>(value.memory)].name = pointer_name(left);
    store(left, value);
    return value;
  }
  if (binary.isCompoundAssignmentOp()) {
    const Value a = eval(left);
    const Value b = eval(right);
    const auto plain = clang::BinaryOperator::getOpForCompoundAssignment(op);
    Value value = left->getType()->isPointerType()
                      ? element_of(a, b, left->getType()->getPointeeType())
                      : convert(arithmetic(plain, a, b,
                                           left->getType()->isFloatingType() ||
                                               right->getType()->isFloatingType()),
                                left->getType());
    store(left, value);
    return value;
  }
  if (op == clang::BO_LAnd || op == clang::BO_LOr) {
    bool from_arguments = false;
    const auto a = truth(left, &from_arguments);
    if (a && *a == (op == clang::BO_LOr)) return truth_value(*a, from_arguments);
    const auto b = truth(right, &from_arguments);
    if (b && (a || *b == (op == clang::BO_LOr))) return truth_value(*b, from_arguments);
    return {};
  }
  const Value a = eval(left);
  const Value b = eval(right);
  if (left->getType()->isPointerType() && right->getType()->isIntegerType() && op == clang::BO_Add)
    return element_of(a, b, left->getType()->getPointeeType());
  if (right->getType()->isPointerType() && left->getType()->isIntegerType() && op == clang::BO_Add)
    return element_of(b, a, right->getType()->getPointeeType());
  if (binary.isEqualityOp() && left->getType()->isPointerType()) {
    const bool a_null = a.kind == Value::Kind::kNull || is_zero(a);
    const bool b_null = b.kind == Value::Kind::kNull || is_zero(b);
    const bool known = a.kind != Value::Kind::kUnknown && b.kind != Value::Kind::kUnknown;
    if (known && (a_null || b_null))
      return int_value(constant((a_null == b_null) == (op == clang::BO_EQ)));
    // fopen(...) == NULL: what can be opened is.
    return {};
  }
  Value value =
      arithmetic(op, a, b, left->getType()->isFloatingType() || right->getType()->isFloatingType());
  value.from_arguments = a.from_arguments || b.from_arguments;
  return value;
}

Value HostRunner::eval_unary(const clang::UnaryOperator& unary) {
  const clang::Expr* inner = unary.getSubExpr();
  switch (unary.getOpcode()) {
    case clang::UO_AddrOf: {
      const clang::Expr* target = inner->IgnoreParens();
      if (const auto* subscript = dyn_cast<clang::ArraySubscriptExpr>(target)) {
        const Value base = eval(subscript->getBase());
        return element_of(base, eval(subscript->getIdx()), target->getType());
      }
      if (const auto* reference = dyn_cast<clang::DeclRefExpr>(target);
          reference != nullptr && isa<clang::FunctionDecl>(reference->getDecl()))
        return eval(target);
      Value value;
      value.cell = place(inner);
      if (value.cell != nullptr) value.kind = Value::Kind::kCell;
      return value;
    }
    case clang::UO_Deref:
      return read(&unary);
    case clang::UO_Minus: {
      Value value = eval(inner);
      if (value.is_int()) return int_value(combine(Op::kSub, constant(0), value.integer));
      if (value.kind == Value::Kind::kReal) return real_value(-value.real);
      return {};
    }
    case clang::UO_Plus:
    case clang::UO_Extension:
      return eval(inner);
    case clang::UO_LNot: {
      bool from_arguments = false;
      const auto known = truth(inner, &from_arguments);
      return known ? truth_value(!*known, from_arguments) : Value{};
    }
    case clang::UO_Not: {
      const Value value = eval(inner);
      return value.is_int() ? int_value(constant(~value.integer->value)) : Value{};
    }
    case clang::UO_PreInc:
    case clang::UO_PostInc:
    case clang::UO_PreDec:
    case clang::UO_PostDec: {
      const Value before = eval(inner);
      Value one = int_value(constant(unary.isIncrementOp() ? 1 : -1));
      Value after =
          inner->getType()->isPointerType()
              ? element_of(before, one, inner->getType()->getPointeeType())
              : arithmetic(clang::BO_Add, before, one, inner->getType()->isFloatingType());
      // Counters stay numbers: `i` of the first round plus one is a number, not a size.
      if (after.is_int()) after.integer = constant(after.integer->value);
      store(inner, after);
      return unary.isPrefix() ? after : before;
    }
    default:
      eval(inner);
      return {};
  }
}

}  // namespace hone::syntax::host
