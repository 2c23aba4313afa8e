// Expressions of host code: see host_runner.h.
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Lex/Lexer.h>

#include <cmath>
#include <utility>

#include "rewriters/syntax/host/host_runner.h"

namespace hone::syntax::host {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using clang::isa;
using Op = HostExpr::Op;

constexpr std::int64_t kGuess = 1024;

bool is_zero(const Value& value) { return value.is_int() && value.integer->value == 0; }

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

bool HostRunner::has_guess(const HostInt& value) const {
  if (value == nullptr) return false;
  if (value->op == Op::kName) return facts_.names[static_cast<std::size_t>(value->name)].guessed;
  for (const HostInt& part : value->operands)
    if (has_guess(part)) return true;
  return false;
}

Value HostRunner::named(Value value, const std::string& name, Origin origin,
                        clang::SourceLocation location) {
  if (!value.is_int() || value.integer->op != Op::kConstant || name.empty()) return value;
  auto leaf = std::make_shared<HostExpr>();
  leaf->op = Op::kName;
  leaf->value = value.integer->value;
  leaf->name = static_cast<int>(facts_.names.size());
  facts_.names.push_back({name, where(location), false, false});
  origins_.push_back(std::move(origin));
  value.integer = leaf;
  return value;
}

Value HostRunner::guess(const std::string& name, Origin origin, clang::SourceLocation location) {
  const auto known = guesses_.find(name);
  const std::int64_t guessed = known != guesses_.end() ? known->second : kGuess;
  Value value =
      named(int_value(constant(guessed)), name.empty() ? "n" : name, std::move(origin), location);
  facts_.names.back().guessed = true;
  return value;
}

HostInt HostRunner::array_bytes(clang::QualType type) {
  const auto* array = context_.getAsConstantArrayType(type);
  if (array == nullptr) {
    if (type->isIncompleteType() || type->isDependentType()) return nullptr;
    return constant(context_.getTypeSizeInChars(type).getQuantity());
  }
  const HostInt element = array_bytes(array->getElementType());
  HostInt count;
  if (const clang::Expr* size = array->getSizeExpr()) count = eval(size).integer;
  if (count == nullptr ||
      count->value != static_cast<std::int64_t>(array->getSize().getZExtValue()))
    count = constant(static_cast<std::int64_t>(array->getSize().getZExtValue()));
  return combine(Op::kMul, count, element);
}

/// A macro that stands for one number is a name, like a variable.
std::optional<Value> HostRunner::named_macro(const clang::Expr* expression) {
  const auto& sources = context_.getSourceManager();
  const clang::SourceLocation begin = expression->getBeginLoc();
  if (!begin.isMacroID() || !expression->getType()->isIntegerType()) return std::nullopt;
  const clang::FileID file = sources.getFileID(begin);
  if (file == in_macro_ || sources.getFileID(expression->getEndLoc()) != file) return std::nullopt;
  const auto& expansion = sources.getSLocEntry(file).getExpansion();
  if (expansion.isMacroArgExpansion() || expansion.isFunctionMacroExpansion()) return std::nullopt;
  struct OnlyLiterals : clang::RecursiveASTVisitor<OnlyLiterals> {
    bool plain = true;
    int literals = 0;
    clang::FileID file;
    const clang::SourceManager* sources = nullptr;
    bool VisitDeclRefExpr(clang::DeclRefExpr*) { return plain = false; }
    bool VisitCallExpr(clang::CallExpr*) { return plain = false; }
    bool VisitIntegerLiteral(clang::IntegerLiteral* literal) {
      ++literals;
      plain = plain && sources->getFileID(literal->getLocation()) == file;
      return plain;
    }
  } content;
  content.file = file;
  content.sources = &sources;
  content.TraverseStmt(const_cast<clang::Expr*>(expression));
  if (!content.plain || content.literals == 0 || expression->isValueDependent())
    return std::nullopt;
  clang::Expr::EvalResult result;
  if (!expression->EvaluateAsInt(result, context_)) return std::nullopt;
  const std::string name =
      clang::Lexer::getImmediateMacroName(begin, sources, context_.getLangOpts()).str();
  return named(int_value(constant(result.Val.getInt().getExtValue())), name, name,
               sources.getSpellingLoc(begin));
}

Value HostRunner::eval(const clang::Expr* expression) {
  if (expression == nullptr || !spend()) return {};
  if (expression->getType().isNull()) {  // the arguments of a declaration that does not parse
    for (const clang::Stmt* part : expression->children())
      if (const auto* inner = dyn_cast_or_null<clang::Expr>(part)) eval(inner);
    return {};
  }
  if (auto macro = named_macro(expression)) return *macro;
  return eval_plain(expression);
}

Value HostRunner::eval_plain(const clang::Expr* expression) {
  if (const auto* paren = dyn_cast<clang::ParenExpr>(expression)) return eval(paren->getSubExpr());
  if (const auto* cleanups = dyn_cast<clang::ExprWithCleanups>(expression))
    return eval(cleanups->getSubExpr());
  if (const auto* temporary = dyn_cast<clang::MaterializeTemporaryExpr>(expression))
    return eval(temporary->getSubExpr());
  if (const auto* bound = dyn_cast<clang::CXXBindTemporaryExpr>(expression))
    return eval(bound->getSubExpr());
  if (const auto* defaulted = dyn_cast<clang::CXXDefaultArgExpr>(expression))
    return eval(defaulted->getExpr());
  if (const auto* defaulted = dyn_cast<clang::CXXDefaultInitExpr>(expression))
    return eval(defaulted->getExpr());
  if (const auto* replaced = dyn_cast<clang::SubstNonTypeTemplateParmExpr>(expression))
    return eval(replaced->getReplacement());
  if (const auto* fixed = dyn_cast<clang::ConstantExpr>(expression))
    return eval(fixed->getSubExpr());
  if (const auto* literal = dyn_cast<clang::IntegerLiteral>(expression))
    return literal->getValue().getActiveBits() > 63
               ? Value{}
               : int_value(constant(static_cast<std::int64_t>(literal->getValue().getZExtValue())));
  if (const auto* literal = dyn_cast<clang::CXXBoolLiteralExpr>(expression))
    return int_value(constant(literal->getValue() ? 1 : 0));
  if (const auto* literal = dyn_cast<clang::CharacterLiteral>(expression))
    return int_value(constant(literal->getValue()));
  if (const auto* literal = dyn_cast<clang::FloatingLiteral>(expression))
    return real_value(literal->getValueAsApproximateDouble());
  if (isa<clang::StringLiteral>(expression)) {
    Value text;
    text.kind = Value::Kind::kText;
    return text;
  }
  if (isa<clang::CXXNullPtrLiteralExpr, clang::GNUNullExpr>(expression)) {
    Value null;
    null.kind = Value::Kind::kNull;
    return null;
  }
  if (const auto* size = dyn_cast<clang::UnaryExprOrTypeTraitExpr>(expression)) {
    if (size->getKind() == clang::UETT_SizeOf) {
      const clang::QualType type = size->getTypeOfArgument();
      if (!type->isDependentType() && type->isConstantArrayType())
        return int_value(array_bytes(type));
    }
    clang::Expr::EvalResult result;
    if (!expression->isValueDependent() && expression->EvaluateAsInt(result, context_))
      return int_value(constant(result.Val.getInt().getExtValue()));
    return {};
  }
  if (const auto* kernel = dyn_cast<clang::CUDAKernelCallExpr>(expression))
    return eval_call(*kernel);
  if (const auto* call = dyn_cast<clang::CallExpr>(expression)) return eval_call(*call);
  if (const auto* cast = dyn_cast<clang::CastExpr>(expression)) return eval_cast(*cast);
  if (const auto* binary = dyn_cast<clang::BinaryOperator>(expression)) return eval_binary(*binary);
  if (const auto* unary = dyn_cast<clang::UnaryOperator>(expression)) return eval_unary(*unary);
  if (const auto* choice = dyn_cast<clang::ConditionalOperator>(expression)) {
    const auto known = truth(choice->getCond());
    if (known) return eval(*known ? choice->getTrueExpr() : choice->getFalseExpr());
    // argc > 1 ? atoi(argv[1]) : 1024: the side that says a number.
    Value a = eval(choice->getTrueExpr());
    Value b = eval(choice->getFalseExpr());
    return b.kind == Value::Kind::kUnknown || (b.is_int() && has_guess(b.integer)) ? a : b;
  }
  if (isa<clang::DeclRefExpr, clang::MemberExpr, clang::ArraySubscriptExpr>(expression))
    return read(expression);
  if (isa<clang::CXXThisExpr>(expression)) {
    Value value;
    if (frames_.empty() || frames_.back().self == nullptr) return value;
    value.kind = Value::Kind::kCell;
    value.cell = frames_.back().self;
    return value;
  }
  if (const auto* construct = dyn_cast<clang::CXXConstructExpr>(expression))
    return eval_construct(*construct, nullptr);
  if (const auto* list = dyn_cast<clang::InitListExpr>(expression)) {
    if (list->getType()->isRecordType()) {
      Value value;
      value.kind = Value::Kind::kRecord;
      value.cell = std::make_shared<Cell>();
      init_record(value.cell, *list);
      return value;
    }
    return list->getNumInits() == 1 ? eval(list->getInit(0)) : Value{};
  }
  if (isa<clang::ImplicitValueInitExpr, clang::CXXScalarValueInitExpr>(expression)) {
    if (expression->getType()->isIntegerType()) return int_value(constant(0));
    if (expression->getType()->isFloatingType()) return real_value(0);
    Value null;
    if (expression->getType()->isPointerType()) null.kind = Value::Kind::kNull;
    return null;
  }
  if (const auto* made = dyn_cast<clang::CXXNewExpr>(expression)) {
    const clang::QualType type = made->getAllocatedType();
    if (type->isDependentType() || type->isIncompleteType()) return {};
    if (!made->isArray() && type->isRecordType()) {
      Value value;
      value.kind = Value::Kind::kCell;
      value.cell = std::make_shared<Cell>();
      if (const auto* construct = made->getConstructExpr()) eval_construct(*construct, value.cell);
      return value;
    }
    HostInt bytes = constant(context_.getTypeSizeInChars(type).getQuantity());
    if (made->isArray())
      bytes = combine(Op::kMul,
                      made->getArraySize() ? eval(*made->getArraySize()).integer : nullptr, bytes);
    return allocate(bytes, "", true, made->getBeginLoc());
  }
  if (isa<clang::LambdaExpr>(expression)) return {};
  // Unknown syntax, names that nobody declares: what stands inside may still allocate or launch.
  for (const clang::Stmt* part : expression->children())
    if (const auto* inner = dyn_cast_or_null<clang::Expr>(part)) eval(inner);
  clang::Expr::EvalResult result;
  if (!expression->isValueDependent() && !expression->containsErrors() &&
      expression->getType()->isIntegerType() && expression->EvaluateAsInt(result, context_))
    return int_value(constant(result.Val.getInt().getExtValue()));
  return {};
}

Value HostRunner::eval_construct(const clang::CXXConstructExpr& construct, CellPtr into) {
  const clang::CXXConstructorDecl* constructor = construct.getConstructor();
  if (constructor->isCopyOrMoveConstructor() && construct.getNumArgs() == 1 &&
      constructor->isImplicit()) {
    Value value = eval(construct.getArg(0));
    if (into != nullptr) store_cell(into, value);
    return value;
  }
  const bool keep = into != nullptr;
  if (!keep) into = std::make_shared<Cell>();
  std::vector<Value> arguments;
  std::vector<CellPtr> references;
  for (const clang::Expr* argument : construct.arguments()) {
    references.push_back(argument->isGLValue() ? place(argument) : nullptr);
    arguments.push_back(eval(argument));
  }
  // Members that the class itself initialises.
  for (const clang::FieldDecl* field : constructor->getParent()->fields()) {
    if (field->getInClassInitializer() == nullptr) continue;
    auto& member = into->members[field];
    member = std::make_shared<Cell>();
    frames_.push_back({});
    frames_.back().self = into;
    const Value value = eval(field->getInClassInitializer());
    frames_.pop_back();
    store_cell(member, value);
  }
  if (construct.isElidable() && construct.getNumArgs() == 1 &&
      arguments[0].kind == Value::Kind::kRecord) {
    store_cell(into, arguments[0]);
  } else {
    call(*constructor, std::move(arguments), std::move(references), into);
  }
  Value value;
  value.kind = Value::Kind::kRecord;
  value.cell = keep ? deep_copy(into) : into;
  return value;
}

void HostRunner::init_record(const CellPtr& cell, const clang::InitListExpr& list) {
  const auto* record = list.getType()->getAsCXXRecordDecl();
  const clang::InitListExpr& full = list.getSemanticForm() ? *list.getSemanticForm() : list;
  if (record == nullptr) return;
  unsigned index = 0;
  for (const clang::FieldDecl* field : record->fields()) {
    if (index >= full.getNumInits()) break;
    auto& member = cell->members[field];
    member = std::make_shared<Cell>();
    store_cell(member, eval(full.getInit(index++)));
  }
}

void HostRunner::init_array(const CellPtr& cell, const clang::InitListExpr& list) {
  const clang::InitListExpr& full = list.getSemanticForm() ? *list.getSemanticForm() : list;
  for (unsigned i = 0; i < std::min(full.getNumInits(), 4096U); ++i) {
    auto& element = cell->elements[i];
    element = std::make_shared<Cell>();
    store_cell(element, eval(full.getInit(i)));
  }
}

Value HostRunner::eval_cast(const clang::CastExpr& cast) {
  const clang::Expr* inner = cast.getSubExpr();
  switch (cast.getCastKind()) {
    case clang::CK_LValueToRValue:
      return eval(inner);
    case clang::CK_ArrayToPointerDecay: {
      if (isa<clang::StringLiteral>(inner->IgnoreParens())) return eval(inner);
      Value value;
      value.cell = place(inner);
      if (value.cell != nullptr) value.kind = Value::Kind::kCell;
      return value;
    }
    case clang::CK_NullToPointer: {
      Value null;
      null.kind = Value::Kind::kNull;
      return null;
    }
    case clang::CK_FunctionToPointerDecay:
      return eval(inner);
    default:
      break;
  }
  return convert(eval(inner), cast.getType());
}

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
    const auto a = truth(left);
    if (a && *a == (op == clang::BO_LOr)) return int_value(constant(*a));
    const auto b = truth(right);
    if (b && *b == (op == clang::BO_LOr)) return int_value(constant(*b));
    if (a && b) return int_value(constant(*b));
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
  return arithmetic(op, a, b,
                    left->getType()->isFloatingType() || right->getType()->isFloatingType());
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
      const auto known = truth(inner);
      return known ? int_value(constant(*known ? 0 : 1)) : Value{};
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
