// Expressions of Clang's AST.
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>

#include "rewriters/syntax/ast_builder.h"

#include "rewriters/syntax/ast_walk.h"

namespace hone::syntax {

using clang::dyn_cast;
using clang::isa;

namespace {

bool is_index_builtin(llvm::StringRef name) {
  return name == "threadIdx" || name == "blockIdx" || name == "blockDim" || name == "gridDim" ||
         name == "warpSize";
}

}  // namespace

const Expr* Builder::expression(const clang::Expr* source) {
  return source == nullptr ? nullptr : expression(source, nullptr);
}

const Expr* Builder::expression(const clang::Expr* source, Expr* parent) {
  SourceRange outer;  // of wrappers that are looked through: parentheses of a macro's whole text
  source = strip(source, outer);
  Expr& result = store_.exprs.emplace_back();
  if (function_ != nullptr) function_->all_expressions.push_back(&result);
  result.parent = parent;
  result.statement = statement_;
  result.type = types_.convert(source->getType());
  result.range = range(source->getSourceRange());
  result.position = position(source->getBeginLoc());
  if (!result.range.valid() && outer.valid()) result.range = outer;
  if (!source->isValueDependent() && !source->isTypeDependent() &&
      source->getType()->isIntegralOrEnumerationType()) {
    clang::Expr::EvalResult value;
    if (source->EvaluateAsInt(value, context_, clang::Expr::SE_NoSideEffects)) {
      const llvm::APSInt& bits = value.Val.getInt();
      if (bits.getSignificantBits() <= 64) result.constant = bits.getExtValue();
    }
  }
  fill(*source, result);
  return &result;
}

const clang::Expr* Builder::strip(const clang::Expr* source, SourceRange& outer) {
  while (true) {
    const clang::Expr* inner = nullptr;
    if (const auto* paren = dyn_cast<clang::ParenExpr>(source)) {
      outer = range(paren->getSourceRange());
      inner = paren->getSubExpr();
    } else if (const auto* full = dyn_cast<clang::FullExpr>(source)) {
      inner = full->getSubExpr();
    } else if (const auto* temporary = dyn_cast<clang::MaterializeTemporaryExpr>(source)) {
      inner = temporary->getSubExpr();
    } else if (const auto* bind = dyn_cast<clang::CXXBindTemporaryExpr>(source)) {
      inner = bind->getSubExpr();
    } else if (const auto* value = dyn_cast<clang::SubstNonTypeTemplateParmExpr>(source)) {
      inner = value->getReplacement();
    } else if (const auto* cast = dyn_cast<clang::ImplicitCastExpr>(source)) {
      if (!changes_value(*cast)) inner = cast->getSubExpr();
    } else if (const auto* construct = dyn_cast<clang::CXXConstructExpr>(source)) {
      if (construct->getNumArgs() >= 1 && construct->getConstructor()->isCopyOrMoveConstructor() &&
          !isa<clang::CXXTemporaryObjectExpr>(source)) {
        inner = construct->getArg(0);
      }
    } else if (const auto* list = dyn_cast<clang::ParenListExpr>(source)) {
      if (list->getNumExprs() == 1) inner = list->getExpr(0);
    }
    if (inner == nullptr) return source;
    source = inner;
  }
}

bool Builder::changes_value(const clang::ImplicitCastExpr& cast) {
  if (cast.isPartOfExplicitCast()) return false;
  switch (cast.getCastKind()) {
    case clang::CK_LValueToRValue:
    case clang::CK_NoOp:
    case clang::CK_FunctionToPointerDecay:
    case clang::CK_BuiltinFnToFnPtr:
    case clang::CK_ArrayToPointerDecay:
    case clang::CK_ConstructorConversion:
    case clang::CK_DerivedToBase:
    case clang::CK_UncheckedDerivedToBase:
    case clang::CK_Dependent:
    case clang::CK_LValueBitCast:
      return false;
    case clang::CK_UserDefinedConversion:
      return true;
    default:
      return true;
  }
}

void Builder::operand(Expr& result, const clang::Expr* source) {
  if (source != nullptr) result.operands.push_back(expression(source, &result));
}

void Builder::call_arguments(Expr& result, const clang::FunctionDecl* callee,
                             llvm::ArrayRef<const clang::Expr*> arguments) {
  unsigned index = 0;
  for (const clang::Expr* argument : arguments) {
    if (isa<clang::CXXDefaultArgExpr>(argument)) continue;
    operand(result, argument);
    const bool known = callee != nullptr && index < callee->getNumParams();
    const clang::QualType type = known ? callee->getParamDecl(index)->getType() : clang::QualType();
    const bool by_reference =
        known ? type->isReferenceType() && !type.getNonReferenceType().isConstQualified()
              : callee == nullptr && argument->isLValue();
    if (by_reference) bound_.insert(result.operands.back());
    ++index;
  }
}

void Builder::fill(const clang::Expr& source, Expr& result) {
  using Kind = Expr::Kind;
  if (const auto* integer = dyn_cast<clang::IntegerLiteral>(&source)) {
    result.kind = Kind::kIntLiteral;
    result.int_value = static_cast<std::int64_t>(integer->getValue().getZExtValue());
  } else if (const auto* character = dyn_cast<clang::CharacterLiteral>(&source)) {
    result.kind = Kind::kIntLiteral;
    result.int_value = character->getValue();
  } else if (const auto* real = dyn_cast<clang::FloatingLiteral>(&source)) {
    result.kind = Kind::kFloatLiteral;
    result.float_value = real->getValueAsApproximateDouble();
  } else if (const auto* truth = dyn_cast<clang::CXXBoolLiteralExpr>(&source)) {
    result.kind = Kind::kBoolLiteral;
    result.int_value = truth->getValue() ? 1 : 0;
  } else if (const auto* reference = dyn_cast<clang::DeclRefExpr>(&source)) {
    fill_reference(*reference, result);
  } else if (const auto* member = dyn_cast<clang::MemberExpr>(&source)) {
    fill_member(*member, result);
  } else if (const auto* dependent = dyn_cast<clang::CXXDependentScopeMemberExpr>(&source)) {
    result.kind = Kind::kMember;
    result.text = dependent->getMember().getAsString();
    if (!dependent->isImplicitAccess()) operand(result, dependent->getBase());
  } else if (const auto* compound = dyn_cast<clang::BinaryOperator>(&source)) {
    result.kind = compound->isAssignmentOp() ? Kind::kAssign : Kind::kBinary;
    result.text = compound->getOpcodeStr().str();
    operand(result, compound->getLHS());
    operand(result, compound->getRHS());
  } else if (const auto* unary = dyn_cast<clang::UnaryOperator>(&source)) {
    fill_unary(*unary, result);
  } else if (const auto* subscript = dyn_cast<clang::ArraySubscriptExpr>(&source)) {
    result.kind = Kind::kSubscript;
    const bool dependent = source.isTypeDependent();
    operand(result, dependent ? subscript->getLHS() : subscript->getBase());
    operand(result, dependent ? subscript->getRHS() : subscript->getIdx());
  } else if (const auto* conditional = dyn_cast<clang::ConditionalOperator>(&source)) {
    result.kind = Kind::kConditional;
    operand(result, conditional->getCond());
    operand(result, conditional->getTrueExpr());
    operand(result, conditional->getFalseExpr());
  } else if (const auto* overloaded = dyn_cast<clang::CXXOperatorCallExpr>(&source)) {
    fill_operator(*overloaded, result);
  } else if (const auto* conversion = dyn_cast<clang::CXXMemberCallExpr>(&source);
             conversion != nullptr &&
             isa_and_nonnull<clang::CXXConversionDecl>(conversion->getMethodDecl())) {
    result.kind = Kind::kCast;
    result.implicit = true;
    operand(result, conversion->getImplicitObjectArgument());
    result.range = result.operands[0]->range;
  } else if (const auto* call = dyn_cast<clang::CallExpr>(&source)) {
    fill_call(*call, result);
  } else if (const auto* cast = dyn_cast<clang::CastExpr>(&source)) {
    result.kind = Kind::kCast;
    result.implicit = isa<clang::ImplicitCastExpr>(cast);
    operand(result, cast_operand(*cast));
    if (result.implicit) result.range = result.operands[0]->range;
  } else if (const auto* construct = dyn_cast<clang::CXXConstructExpr>(&source)) {
    fill_construct(*construct, result);
  } else if (const auto* unresolved = dyn_cast<clang::CXXUnresolvedConstructExpr>(&source)) {
    result.kind = unresolved->getNumArgs() == 1 ? Kind::kCast : Kind::kInitList;
    for (const clang::Expr* argument : unresolved->arguments()) operand(result, argument);
  } else if (const auto* list = dyn_cast<clang::InitListExpr>(&source)) {
    const clang::InitListExpr* written =
        list->isSemanticForm() && list->getSyntacticForm() ? list->getSyntacticForm() : list;
    result.kind = Kind::kInitList;
    for (const clang::Expr* item : written->inits()) operand(result, item);
  } else if (const auto* parens = dyn_cast<clang::ParenListExpr>(&source)) {
    result.kind = Kind::kInitList;
    for (unsigned i = 0; i < parens->getNumExprs(); ++i) operand(result, parens->getExpr(i));
  } else if (isa<clang::CXXScalarValueInitExpr>(source) ||
             isa<clang::ImplicitValueInitExpr>(source)) {
    result.kind = Kind::kInitList;
  } else if (const auto* lambda = dyn_cast<clang::LambdaExpr>(&source)) {
    fill_lambda(*lambda, result);
  } else if (isa<clang::StringLiteral>(source)) {
    result.text = "string";
  } else if (isa<clang::CXXNullPtrLiteralExpr>(source) || isa<clang::GNUNullExpr>(source)) {
    result.text = "nullptr";
  } else if (isa<clang::CXXThisExpr>(source)) {
    result.text = "this";
  } else {
    for (const clang::Stmt* part : source.children()) {
      if (const auto* expr = clang::dyn_cast_or_null<clang::Expr>(part)) operand(result, expr);
    }
  }
}

const clang::Expr* Builder::cast_operand(const clang::CastExpr& cast) {
  const clang::Expr* inner = cast.getSubExpr();
  while (true) {
    if (const auto* implicit = dyn_cast<clang::ImplicitCastExpr>(inner);
        implicit != nullptr && implicit->isPartOfExplicitCast()) {
      inner = implicit->getSubExpr();
    } else if (const auto* construct = dyn_cast<clang::CXXConstructExpr>(inner);
               construct != nullptr && construct->getNumArgs() >= 1 &&
               !isa<clang::CXXTemporaryObjectExpr>(inner) &&
               (construct->getNumArgs() == 1 ||
                isa<clang::CXXDefaultArgExpr>(construct->getArg(1)))) {
      inner = construct->getArg(0);
    } else if (const auto* conversion = dyn_cast<clang::CXXMemberCallExpr>(inner);
               conversion != nullptr &&
               isa_and_nonnull<clang::CXXConversionDecl>(conversion->getMethodDecl())) {
      inner = conversion->getImplicitObjectArgument();
    } else {
      return inner;
    }
  }
}

void Builder::fill_reference(const clang::DeclRefExpr& reference, Expr& result) {
  const clang::ValueDecl* decl = reference.getDecl();
  if (auto known = variables_.find(decl); known != variables_.end()) {
    result.kind = Expr::Kind::kVariable;
    result.variable = known->second;
    if (reference.refersToEnclosingVariableOrCapture()) captured_.insert(known->second);
    if (!result.constant && known->second->init != nullptr && known->second->type.is_const) {
      result.constant = known->second->init->constant;
    }
  } else if (isa<clang::VarDecl>(decl) && is_index_builtin(decl->getName())) {
    result.kind = Expr::Kind::kBuiltin;
    result.text = decl->getNameAsString();
  } else if (isa<clang::EnumConstantDecl>(decl) && result.constant) {
    result.kind = Expr::Kind::kIntLiteral;
    result.int_value = *result.constant;
  }
}

void Builder::fill_member(const clang::MemberExpr& member, Expr& result) {
  const auto* base = dyn_cast<clang::DeclRefExpr>(member.getBase()->IgnoreParenImpCasts());
  if (base != nullptr && isa<clang::VarDecl>(base->getDecl()) &&
      variables_.count(base->getDecl()) == 0 && base->getDecl()->getIdentifier() != nullptr &&
      is_index_builtin(base->getDecl()->getName())) {
    result.kind = Expr::Kind::kBuiltin;
    result.text = (base->getDecl()->getName() + "." + member.getMemberDecl()->getName()).str();
    return;
  }
  result.kind = Expr::Kind::kMember;
  result.text = member.getMemberDecl()->getNameAsString();
  if (member.isArrow()) {  // p->x is (*p).x
    Expr& dereference = store_.exprs.emplace_back();
    if (function_ != nullptr) function_->all_expressions.push_back(&dereference);
    dereference.kind = Expr::Kind::kUnary;
    dereference.text = "*";
    dereference.parent = &result;
    dereference.statement = statement_;
    operand(dereference, member.getBase());
    if (dereference.operands[0]->type.element) {
      dereference.type = *dereference.operands[0]->type.element;
    }
    dereference.position = result.position;
    result.operands.push_back(&dereference);  // its range stays invalid: `*` is not written
  } else {
    operand(result, member.getBase());
  }
}

void Builder::fill_unary(const clang::UnaryOperator& unary, Expr& result) {
  result.kind = Expr::Kind::kUnary;
  const std::string name = clang::UnaryOperator::getOpcodeStr(unary.getOpcode()).str();
  result.text = unary.isPostfix() ? "x" + name : unary.isIncrementDecrementOp() ? name + "x" : name;
  if (unary.getOpcode() == clang::UO_Extension) result.kind = Expr::Kind::kOther;
  operand(result, unary.getSubExpr());
}

void Builder::fill_operator(const clang::CXXOperatorCallExpr& call, Expr& result) {
  const clang::FunctionDecl* callee = call.getDirectCallee();
  const bool ours = callee != nullptr && position(callee->getLocation()) < 0;  // of the prelude
  const std::string name = clang::getOperatorSpelling(call.getOperator());
  const bool assignment = call.isAssignmentOp();
  if (call.getOperator() == clang::OO_Subscript && callee == nullptr) {
    result.kind = Expr::Kind::kSubscript;  // a dependent subscript
    operand(result, call.getArg(0));
    operand(result, call.getArg(1));
    return;
  }
  const bool trivial_copy = call.getOperator() == clang::OO_Equal && callee != nullptr &&
                            (callee->isTrivial() || callee->isDefaulted());
  if (ours || trivial_copy || (callee == nullptr && call.getOperator() != clang::OO_Call)) {
    if (call.getOperator() == clang::OO_PlusPlus || call.getOperator() == clang::OO_MinusMinus) {
      result.kind = Expr::Kind::kUnary;
      result.text = call.getNumArgs() == 2 ? "x" + name : name + "x";
      operand(result, call.getArg(0));
      return;
    }
    if (call.getNumArgs() <= 2 && call.getOperator() != clang::OO_Call &&
        call.getOperator() != clang::OO_Subscript && call.getOperator() != clang::OO_Arrow) {
      result.kind = assignment               ? Expr::Kind::kAssign
                    : call.getNumArgs() == 1 ? Expr::Kind::kUnary
                                             : Expr::Kind::kBinary;
      result.text = name;
      for (const clang::Expr* argument : call.arguments()) operand(result, argument);
      return;
    }
  }
  result.kind = Expr::Kind::kCall;
  result.text = "";
  for (const clang::Expr* argument : call.arguments()) {
    operand(result, argument);
    if (argument->isLValue()) bound_.insert(result.operands.back());
  }
}

void Builder::note_callee(Expr& call, const clang::FunctionDecl& callee) {
  const clang::FunctionDecl* pattern = callee.getTemplateInstantiationPattern();
  callees_.emplace_back(&call, (pattern != nullptr ? pattern : &callee)->getCanonicalDecl());
}

void Builder::fill_call(const clang::CallExpr& call, Expr& result) {
  result.kind = Expr::Kind::kCall;
  const clang::FunctionDecl* callee = call.getDirectCallee();
  const std::vector<const clang::Expr*> arguments(call.arg_begin(), call.arg_end());
  const clang::Expr* target = call.getCallee()->IgnoreParenImpCasts();
  if (const auto* member = dyn_cast<clang::MemberExpr>(target)) {
    result.text = "." + member->getMemberDecl()->getNameAsString();
    result.intrinsic = position(member->getMemberDecl()->getLocation()) < 0;
    if (callee != nullptr) note_callee(result, *callee);
    operand(result, member->getBase());
    const auto* method = dyn_cast<clang::CXXMethodDecl>(member->getMemberDecl());
    if (method == nullptr || !(method->isConst() || method->isStatic())) {
      bound_.insert(result.operands.back());
    }
  } else if (const auto* dependent = dyn_cast<clang::CXXDependentScopeMemberExpr>(target)) {
    result.text = "." + dependent->getMember().getAsString();
    if (!dependent->isImplicitAccess()) {
      operand(result, dependent->getBase());
      bound_.insert(result.operands.back());
    }
  } else if (callee != nullptr && callee->getIdentifier() != nullptr) {
    result.text = callee->getNameAsString();
    result.intrinsic = position(callee->getLocation()) < 0;
    note_callee(result, *callee);
  } else if (const auto* overloads = dyn_cast<clang::OverloadExpr>(target)) {
    result.text = overloads->getName().getAsString();
    // A dependent call by name to one of the prelude's functions takes nothing by reference.
    bool all_ours = overloads->getNumDecls() > 0;
    for (const clang::NamedDecl* candidate : overloads->decls()) {
      all_ours = all_ours && position(candidate->getLocation()) < 0;
    }
    result.intrinsic = all_ours;
    if (all_ours) {
      for (const clang::Expr* argument : arguments) operand(result, argument);
      return;
    }
  } else {
    operand(result, call.getCallee());
  }
  call_arguments(result, callee, arguments);
}

void Builder::fill_construct(const clang::CXXConstructExpr& construct, Expr& result) {
  std::vector<const clang::Expr*> arguments;
  for (const clang::Expr* argument : construct.arguments()) {
    if (!isa<clang::CXXDefaultArgExpr>(argument)) arguments.push_back(argument);
  }
  const bool converting = arguments.size() == 1 && !isa<clang::CXXTemporaryObjectExpr>(construct) &&
                          !construct.isListInitialization();
  result.kind = converting ? Expr::Kind::kCast : Expr::Kind::kInitList;
  result.implicit = converting;
  result.text = result.type.name;
  if (construct.getConstructor()->isUserProvided() &&
      position(construct.getConstructor()->getLocation()) >= 0) {
    result.kind = Expr::Kind::kCall;  // a constructor of the file may do anything
    result.implicit = false;
    note_callee(result, *construct.getConstructor());
    call_arguments(result, construct.getConstructor(), arguments);
    return;
  }
  call_arguments(result, construct.getConstructor(), arguments);
  if (converting) result.range = result.operands[0]->range;
}

void Builder::fill_lambda(const clang::LambdaExpr& lambda, Expr& result) {
  std::vector<const clang::Expr*> uses;
  AstWalk walk;
  walk.statement = [&](const clang::Stmt& statement) {
    if (const auto* reference = dyn_cast<clang::DeclRefExpr>(&statement)) uses.push_back(reference);
  };
  walk.over(lambda.getBody());
  for (const clang::Expr* use : uses) {
    operand(result, use);
    if (result.operands.back()->variable != nullptr) {
      captured_.insert(result.operands.back()->variable);
    }
  }
}

}  // namespace hone::syntax
