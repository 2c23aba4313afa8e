// Expressions of host code: see host_runner.h.
#include <clang/Lex/Lexer.h>

#include <utility>

#include "rewriters/syntax/ast_walk.h"
#include "rewriters/syntax/host/host_runner.h"

namespace hone::syntax::host {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using clang::isa;
using Op = HostExpr::Op;

constexpr std::int64_t kGuess = 1024;

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
  bool plain = true;
  int literals = 0;
  AstWalk walk;
  walk.statement = [&](const clang::Stmt& one) {
    const auto* literal = dyn_cast<clang::IntegerLiteral>(&one);
    if (literal != nullptr) ++literals;
    plain = plain && !isa<clang::DeclRefExpr, clang::CallExpr>(one) &&
            (literal == nullptr || sources.getFileID(literal->getLocation()) == file);
  };
  walk.over(expression);
  if (!plain || literals == 0 || expression->isValueDependent()) return std::nullopt;
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

}  // namespace hone::syntax::host
