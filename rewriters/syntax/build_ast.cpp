#include "rewriters/syntax/build_ast.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/AST/StmtCXX.h>
#include <clang/AST/TypeLoc.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>

#include <map>
#include <set>

#include "rewriters/syntax/build_types.h"

namespace hone::syntax {
namespace {

using clang::dyn_cast;
using clang::isa;

bool is_index_builtin(llvm::StringRef name) {
  return name == "threadIdx" || name == "blockIdx" || name == "blockDim" || name == "gridDim" ||
         name == "warpSize";
}

class Builder {
 public:
  Builder(clang::ASTContext& context, TranslationUnit& unit)
      : context_(context),
        sources_(context.getSourceManager()),
        unit_(unit),
        store_(*unit.storage),
        types_(context) {}

  void run() {
    declarations(context_.getTranslationUnitDecl());
    for (auto& [call, callee] : callees_) {
      const auto found = functions_.find(callee);
      if (found != functions_.end()) call->callee = found->second;
    }
    count_uses();
  }

 private:
  // --- places -----------------------------------------------------------------------------
  int position(clang::SourceLocation location) const {
    if (location.isInvalid()) return -1;
    auto [file, offset] = sources_.getDecomposedLoc(sources_.getExpansionLoc(location));
    // What stands behind the user's text was appended to instantiate templates.
    return file == sources_.getMainFileID() && offset < unit_.source.size()
               ? static_cast<int>(offset)
               : -1;
  }

  SourceRange range(clang::SourceRange clang_range) const {
    if (clang_range.isInvalid()) return {};
    auto chars = clang::Lexer::makeFileCharRange(clang::CharSourceRange::getTokenRange(clang_range),
                                                 sources_, context_.getLangOpts());
    if (chars.isInvalid()) return {};
    auto [begin_file, begin] = sources_.getDecomposedLoc(chars.getBegin());
    auto [end_file, end] = sources_.getDecomposedLoc(chars.getEnd());
    if (begin_file != sources_.getMainFileID() || end_file != begin_file || end < begin) return {};
    return {static_cast<int>(begin), static_cast<int>(end)};
  }

  int skip_blank(int offset) const {
    const std::string& text = unit_.source;
    const int size = static_cast<int>(text.size());
    while (offset < size) {
      if (isspace(static_cast<unsigned char>(text[offset]))) {
        ++offset;
      } else if (text.compare(offset, 2, "//") == 0) {
        while (offset < size && text[offset] != '\n') ++offset;
      } else if (text.compare(offset, 2, "/*") == 0) {
        const auto close = text.find("*/", offset + 2);
        if (close == std::string::npos) return size;
        offset = static_cast<int>(close) + 2;
      } else {
        break;
      }
    }
    return offset;
  }

  SourceRange with_semicolon(SourceRange plain) const {
    if (!plain.valid() || (plain.end > 0 && unit_.source[plain.end - 1] == ';')) return plain;
    const int next = skip_blank(plain.end);
    if (next < static_cast<int>(unit_.source.size()) && unit_.source[next] == ';') {
      plain.end = next + 1;
    }
    return plain;
  }

  /// The `#pragma unroll` line, or `_Pragma("unroll")`, directly before a loop.
  SourceRange pragma_before(int loop_begin) const {
    const std::string& text = unit_.source;
    int end = loop_begin;
    while (end > 0 && isspace(static_cast<unsigned char>(text[end - 1]))) --end;
    if (end == 0) return {};
    auto line = text.rfind('\n', end - 1);
    int begin = line == std::string::npos ? 0 : static_cast<int>(line) + 1;
    int first = begin;
    while (first < end && isspace(static_cast<unsigned char>(text[first]))) ++first;
    if (first < end && text[first] == '#') return {first, end};
    const auto operator_form = text.rfind("_Pragma", end);
    if (operator_form != std::string::npos && static_cast<int>(operator_form) >= begin &&
        text[end - 1] == ')') {
      return {static_cast<int>(operator_form), end};
    }
    return {};
  }

  // --- declarations -----------------------------------------------------------------------
  void declarations(const clang::DeclContext* scope) {
    // Without those of the precompiled prelude, which stay unloaded until they are used.
    for (const clang::Decl* decl : scope->noload_decls()) {
      if (decl->isImplicit() || position(decl->getLocation()) < 0) {
        if (!isa<clang::LinkageSpecDecl>(decl) || position(decl->getBeginLoc()) < 0) continue;
      }
      if (const auto* linkage = dyn_cast<clang::LinkageSpecDecl>(decl)) {
        outer_begin_ = linkage->hasBraces() ? -1 : position(linkage->getBeginLoc());
        declarations(linkage);
        outer_begin_ = -1;
      } else if (const auto* space = dyn_cast<clang::NamespaceDecl>(decl)) {
        declarations(space);
      } else if (const auto* pattern = dyn_cast<clang::FunctionTemplateDecl>(decl)) {
        const int saved = outer_begin_;
        if (outer_begin_ < 0) outer_begin_ = position(pattern->getBeginLoc());
        template_parameters(*pattern->getTemplateParameters());
        function(shown_form(*pattern), true);
        outer_begin_ = saved;
      } else if (const auto* plain = dyn_cast<clang::FunctionDecl>(decl)) {
        function(*plain, false);
      } else if (const auto* variable = dyn_cast<clang::VarDecl>(decl)) {
        unit_.globals.push_back(global(*variable));
      } else if (const auto* record = dyn_cast<clang::CXXRecordDecl>(decl)) {
        if (record->isThisDeclarationADefinition()) declarations(record);
      }
    }
  }

  /// The one instance of a kernel template, where types are known; else the pattern. Text is the
  /// same for both. An `if constexpr` may hide part of the text from an instance.
  static const clang::FunctionDecl& shown_form(const clang::FunctionTemplateDecl& decl) {
    const clang::FunctionDecl* pattern = decl.getTemplatedDecl();
    if (!pattern->hasAttr<clang::CUDAGlobalAttr>() || !pattern->hasBody()) return *pattern;
    struct HiddenText : clang::RecursiveASTVisitor<HiddenText> {
      bool found = false;
      bool VisitIfStmt(clang::IfStmt* statement) {
        found |= statement->isConstexpr();
        return true;
      }
    } hidden;
    hidden.TraverseStmt(pattern->getBody());
    if (hidden.found) return *pattern;
    const clang::FunctionDecl* only = nullptr;
    for (const clang::FunctionDecl* instance : decl.specializations()) {
      if (only != nullptr) return *pattern;
      only = instance;
    }
    const bool usable = only != nullptr && only->doesThisDeclarationHaveABody() &&
                        only->getTemplateSpecializationKind() != clang::TSK_ExplicitSpecialization;
    return usable ? *only : *pattern;
  }

  void template_parameters(const clang::TemplateParameterList& list) {
    for (const clang::NamedDecl* parameter : list) {
      const auto* value = dyn_cast<clang::NonTypeTemplateParmDecl>(parameter);
      if (value == nullptr) continue;
      Variable& variable = store_.variables.emplace_back();
      variable.name = variable.symbol = value->getNameAsString();
      variable.symbol += "#t";
      variable.type = types_.convert(value->getType());
      variable.type.is_const = true;
      variable.storage = Variable::Storage::kGlobal;
      variable.declaration = range(value->getSourceRange());
      variables_[value] = &variable;
    }
  }

  Variable* global(const clang::VarDecl& decl) {
    Variable& variable = new_variable(decl);
    variable.symbol = variable.name + "#g";
    variable.storage = decl.hasAttr<clang::CUDAConstantAttr>() ? Variable::Storage::kConstant
                       : decl.hasAttr<clang::CUDASharedAttr>() ? shared_storage(decl)
                                                               : Variable::Storage::kGlobal;
    if (decl.hasInit()) variable.init = expression(decl.getInit());
    return &variable;
  }

  static Variable::Storage shared_storage(const clang::VarDecl& decl) {
    return decl.hasExternalStorage() || isa<clang::IncompleteArrayType>(decl.getType())
               ? Variable::Storage::kDynamicShared
               : Variable::Storage::kShared;
  }

  Variable& new_variable(const clang::VarDecl& decl) {
    Variable& variable = store_.variables.emplace_back();
    variable.name = decl.getNameAsString();
    variable.is_reference = variable.address_taken = decl.getType()->isReferenceType();
    variable.type = types_.convert(decl.getType());
    variable.name_range = range(clang::SourceRange(decl.getLocation(), decl.getLocation()));
    if (variable.name_range.valid()) {
      variable.declaration = range(clang::SourceRange(decl.getLocation(), decl.getEndLoc()));
      if (decl.getEndLoc() < decl.getLocation()) variable.declaration = variable.name_range;
      if (decl.getTypeSourceInfo() != nullptr) {
        clang::TypeLoc written = decl.getTypeSourceInfo()->getTypeLoc();
        while (true) {
          if (auto qualified = written.getAs<clang::QualifiedTypeLoc>()) {
            written = qualified.getUnqualifiedLoc();
          } else if (auto pointer = written.getAs<clang::PointerTypeLoc>()) {
            written = pointer.getPointeeLoc();
          } else if (auto reference = written.getAs<clang::ReferenceTypeLoc>()) {
            written = reference.getPointeeLoc();
          } else if (auto array = written.getAs<clang::ArrayTypeLoc>()) {
            written = array.getElementLoc();
          } else {
            break;
          }
        }
        variable.type_range = range(clang::SourceRange(decl.getBeginLoc(), written.getEndLoc()));
      }
    }
    variable.function = function_;
    if (function_ != nullptr) {
      variable.symbol = variable.name + "#" + std::to_string(shadow_[variable.name]++);
    }
    variables_[&decl] = &variable;
    return variable;
  }

  void function(const clang::FunctionDecl& decl, bool is_template) {
    if (!decl.doesThisDeclarationHaveABody() || decl.isDefaulted()) return;
    Function& result = store_.functions.emplace_back();
    function_ = &result;
    functions_[decl.getCanonicalDecl()] = &result;
    shadow_.clear();
    result.name = decl.getNameAsString();
    result.is_template = is_template;
    result.is_kernel = decl.hasAttr<clang::CUDAGlobalAttr>();
    result.is_device = decl.hasAttr<clang::CUDADeviceAttr>();
    result.is_host = !result.is_kernel && !result.is_device && !decl.isConstexpr() &&
                     !isa<clang::CXXMethodDecl>(decl);
    result.is_extern_c = decl.isExternC();
    result.is_redeclared = decl.getFirstDecl() != decl.getMostRecentDecl();
    result.name_range = range(clang::SourceRange(decl.getLocation(), decl.getLocation()));
    result.attribute_insert = result.name_range.begin;
    int begin = position(decl.getBeginLoc());
    if (outer_begin_ >= 0) begin = std::min(begin, outer_begin_);
    for (const clang::Attr* attribute : decl.attrs()) {
      const int at = position(attribute->getLocation());
      if (!attribute->isImplicit() && at >= 0) begin = std::min(begin, at);
      if (const auto* bounds = dyn_cast<clang::CUDALaunchBoundsAttr>(attribute)) {
        const clang::Expr* most = bounds->getMaxThreads();
        clang::Expr::EvalResult value;
        if (!most->isValueDependent() && most->EvaluateAsInt(value, context_)) {
          result.max_threads = static_cast<int>(value.Val.getInt().getExtValue());
        }
        const auto chars = sources_.getExpansionRange(attribute->getRange());
        result.launch_bounds = {position(chars.getBegin()), position(chars.getEnd()) + 1};
      }
    }
    result.range = {begin, position(decl.getEndLoc()) + 1};
    if (decl.getFunctionTypeLoc()) {
      result.parameters_range = {position(decl.getFunctionTypeLoc().getLParenLoc()) + 1,
                                 position(decl.getFunctionTypeLoc().getRParenLoc())};
    }
    for (const clang::ParmVarDecl* parameter : decl.parameters()) {
      Variable& variable = new_variable(*parameter);
      variable.storage = Variable::Storage::kParameter;
      variable.param_index = static_cast<int>(result.parameters.size());
      variable.declaration = range(parameter->getSourceRange());
      result.parameters.push_back(&variable);
    }
    result.body = statement(decl.getBody(), nullptr);
    unit_.functions.push_back(&result);
    function_ = nullptr;
  }

  // --- statements -------------------------------------------------------------------------
  const Stmt* statement(const clang::Stmt* source, const Stmt* parent) {
    if (source == nullptr) return nullptr;
    if (const auto* attributed = dyn_cast<clang::AttributedStmt>(source)) {
      const Stmt* inner = statement(attributed->getSubStmt(), parent);
      auto* loop = const_cast<Stmt*>(inner);
      if (loop->position >= 0) loop->pragma = pragma_before(loop->position);
      return inner;
    }
    Stmt& result = store_.stmts.emplace_back();
    function_->all_statements.push_back(&result);
    result.parent = parent;
    result.function = function_;
    result.position = position(source->getBeginLoc());
    result.range = range(source->getSourceRange());
    const Stmt* outer = statement_;
    statement_ = &result;
    fill(*source, result);
    statement_ = outer;
    return &result;
  }

  void child(Stmt& result, const clang::Stmt* source) {
    if (const Stmt* inner = statement(source, &result)) {
      result.children.push_back(inner);
      // Clang's range of a loop ends before the `;` of a single-statement body.
      if (result.range.valid() && inner->range.valid() && result.kind != Stmt::Kind::kDo) {
        result.range.end = std::max(result.range.end, inner->range.end);
      }
    }
  }

  void other(const clang::Stmt& source, Stmt& result) {
    result.kind = Stmt::Kind::kOther;
    for (const clang::Stmt* part : source.children()) {
      if (part == nullptr) continue;
      if (const auto* expr = dyn_cast<clang::Expr>(part)) {
        Stmt& holder = store_.stmts.emplace_back();
        function_->all_statements.push_back(&holder);
        holder.kind = Stmt::Kind::kExpression;
        holder.parent = &result;
        holder.function = function_;
        holder.position = position(expr->getBeginLoc());
        holder.range = range(expr->getSourceRange());
        const Stmt* outer = statement_;
        statement_ = &holder;
        holder.expr = expression(expr);
        statement_ = outer;
        result.children.push_back(&holder);
      } else {
        child(result, part);
      }
    }
  }

  void fill(const clang::Stmt& source, Stmt& result) {
    using Kind = Stmt::Kind;
    if (const auto* compound = dyn_cast<clang::CompoundStmt>(&source)) {
      result.kind = Kind::kCompound;
      for (const clang::Stmt* inner : compound->body()) child(result, inner);
    } else if (const auto* declaration = dyn_cast<clang::DeclStmt>(&source)) {
      result.kind = Kind::kDeclaration;
      for (const clang::Decl* decl : declaration->decls()) {
        if (const auto* variable = dyn_cast<clang::VarDecl>(decl)) {
          result.variables.push_back(local(*variable, result));
        } else if (!isa<clang::TypedefNameDecl, clang::EmptyDecl, clang::StaticAssertDecl,
                        clang::UsingDecl, clang::UsingDirectiveDecl, clang::EnumDecl>(decl)) {
          result.kind = Kind::kOther;
        }
      }
    } else if (const auto* branch = dyn_cast<clang::IfStmt>(&source)) {
      if (branch->hasInitStorage() || branch->hasVarStorage()) return other(source, result);
      result.kind = Kind::kIf;
      result.expr = expression(branch->getCond());
      child(result, branch->getThen());
      child(result, branch->getElse());
    } else if (const auto* loop = dyn_cast<clang::ForStmt>(&source)) {
      if (loop->getConditionVariable() != nullptr) return other(source, result);
      result.kind = Kind::kFor;
      result.init = for_init(loop->getInit(), &result);
      result.expr = expression(loop->getCond());
      result.step = expression(loop->getInc());
      child(result, loop->getBody());
    } else if (const auto* while_loop = dyn_cast<clang::WhileStmt>(&source)) {
      if (while_loop->getConditionVariable() != nullptr) return other(source, result);
      result.kind = Kind::kWhile;
      result.expr = expression(while_loop->getCond());
      child(result, while_loop->getBody());
    } else if (const auto* do_loop = dyn_cast<clang::DoStmt>(&source)) {
      result.kind = Kind::kDo;
      child(result, do_loop->getBody());
      result.expr = expression(do_loop->getCond());
      result.range = with_semicolon(result.range);
    } else if (const auto* choice = dyn_cast<clang::SwitchStmt>(&source)) {
      if (choice->hasInitStorage() || choice->hasVarStorage()) return other(source, result);
      result.kind = Kind::kSwitch;
      result.expr = expression(choice->getCond());
      child(result, choice->getBody());
    } else if (const auto* label = dyn_cast<clang::SwitchCase>(&source)) {
      result.kind = Kind::kCase;
      if (const auto* value = dyn_cast<clang::CaseStmt>(label)) {
        result.expr = expression(value->getLHS());
      }
      child(result, label->getSubStmt());
    } else if (const auto* leave = dyn_cast<clang::ReturnStmt>(&source)) {
      result.kind = Kind::kReturn;
      result.expr = expression(leave->getRetValue());
      result.range = with_semicolon(result.range);
    } else if (isa<clang::BreakStmt>(source) || isa<clang::ContinueStmt>(source)) {
      result.kind = isa<clang::BreakStmt>(source) ? Kind::kBreak : Kind::kContinue;
      result.range = with_semicolon(result.range);
    } else if (isa<clang::NullStmt>(source)) {
      result.kind = Kind::kNull;
    } else if (const auto* value = dyn_cast<clang::Expr>(&source)) {
      result.kind = Kind::kExpression;
      result.expr = expression(value);
      result.range = with_semicolon(result.range);
    } else {
      other(source, result);
    }
  }

  /// The init of a `for` is a statement with its `;` inside the parentheses.
  const Stmt* for_init(const clang::Stmt* source, const Stmt* parent) {
    return source == nullptr ? nullptr : statement(source, parent);
  }

  const Variable* local(const clang::VarDecl& decl, Stmt& statement) {
    Variable& variable = new_variable(decl);
    variable.statement = &statement;
    if (decl.hasAttr<clang::CUDASharedAttr>()) {
      variable.storage = shared_storage(decl);
    } else if (decl.isStaticLocal()) {
      variable.storage = Variable::Storage::kGlobal;
    }
    const_cast<Function*>(function_)->locals.push_back(&variable);
    if (decl.hasInit() && !(isa<clang::CXXConstructExpr>(decl.getInit()) &&
                            decl.getInitStyle() == clang::VarDecl::CallInit &&
                            cast<clang::CXXConstructExpr>(decl.getInit())->getNumArgs() == 0)) {
      variable.init = expression(decl.getInit());
      if (decl.getType()->isReferenceType()) bound_.insert(variable.init);
    }
    return &variable;
  }

  // --- expressions ------------------------------------------------------------------------
  const Expr* expression(const clang::Expr* source) {
    return source == nullptr ? nullptr : expression(source, nullptr);
  }

  const Expr* expression(const clang::Expr* source, Expr* parent) {
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

  const clang::Expr* strip(const clang::Expr* source, SourceRange& outer) {
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
        if (construct->getNumArgs() >= 1 &&
            construct->getConstructor()->isCopyOrMoveConstructor() &&
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

  static bool changes_value(const clang::ImplicitCastExpr& cast) {
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

  void operand(Expr& result, const clang::Expr* source) {
    if (source != nullptr) result.operands.push_back(expression(source, &result));
  }

  void call_arguments(Expr& result, const clang::FunctionDecl* callee,
                      llvm::ArrayRef<const clang::Expr*> arguments) {
    unsigned index = 0;
    for (const clang::Expr* argument : arguments) {
      if (isa<clang::CXXDefaultArgExpr>(argument)) continue;
      operand(result, argument);
      const bool known = callee != nullptr && index < callee->getNumParams();
      const clang::QualType type =
          known ? callee->getParamDecl(index)->getType() : clang::QualType();
      const bool by_reference =
          known ? type->isReferenceType() && !type.getNonReferenceType().isConstQualified()
                : callee == nullptr && argument->isLValue();
      if (by_reference) bound_.insert(result.operands.back());
      ++index;
    }
  }

  void fill(const clang::Expr& source, Expr& result) {
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

  /// The converting constructor or conversion function of an explicit cast is the cast itself.
  static const clang::Expr* cast_operand(const clang::CastExpr& cast) {
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

  void fill_reference(const clang::DeclRefExpr& reference, Expr& result) {
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

  void fill_member(const clang::MemberExpr& member, Expr& result) {
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

  void fill_unary(const clang::UnaryOperator& unary, Expr& result) {
    result.kind = Expr::Kind::kUnary;
    const std::string name = clang::UnaryOperator::getOpcodeStr(unary.getOpcode()).str();
    result.text = unary.isPostfix()                ? "x" + name
                  : unary.isIncrementDecrementOp() ? name + "x"
                                                   : name;
    if (unary.getOpcode() == clang::UO_Extension) result.kind = Expr::Kind::kOther;
    operand(result, unary.getSubExpr());
  }

  void fill_operator(const clang::CXXOperatorCallExpr& call, Expr& result) {
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

  void note_callee(Expr& call, const clang::FunctionDecl& callee) {
    const clang::FunctionDecl* pattern = callee.getTemplateInstantiationPattern();
    callees_.emplace_back(&call, (pattern != nullptr ? pattern : &callee)->getCanonicalDecl());
  }

  void fill_call(const clang::CallExpr& call, Expr& result) {
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

  void fill_construct(const clang::CXXConstructExpr& construct, Expr& result) {
    std::vector<const clang::Expr*> arguments;
    for (const clang::Expr* argument : construct.arguments()) {
      if (!isa<clang::CXXDefaultArgExpr>(argument)) arguments.push_back(argument);
    }
    const bool converting = arguments.size() == 1 &&
                            !isa<clang::CXXTemporaryObjectExpr>(construct) &&
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

  void fill_lambda(const clang::LambdaExpr& lambda, Expr& result) {
    struct Uses : clang::RecursiveASTVisitor<Uses> {
      std::vector<const clang::Expr*> found;
      bool VisitDeclRefExpr(clang::DeclRefExpr* reference) {
        found.push_back(reference);
        return true;
      }
    } uses;
    uses.TraverseStmt(lambda.getBody());
    for (const clang::Expr* use : uses.found) {
      operand(result, use);
      if (result.operands.back()->variable != nullptr) {
        captured_.insert(result.operands.back()->variable);
      }
    }
  }

  // --- uses -------------------------------------------------------------------------------
  void count_uses() {
    for (const Expr* expr : bound_) const_cast<Expr*>(expr)->bound = true;
    for (Expr& expr : store_.exprs) {
      if (expr.kind != Expr::Kind::kVariable) continue;
      auto& variable = *const_cast<Variable*>(expr.variable);
      if (captured_.count(&variable) != 0) variable.address_taken = true;
      // Climb from `v` in `v.x[1] = …` to the whole lvalue; a pointer's element is memory, not v.
      const Expr* place = &expr;
      bool in_memory = false;
      while (place->parent != nullptr && bound_.count(place) == 0) {
        const Expr* up = place->parent;
        if (up->kind == Expr::Kind::kMember) {
          place = up;
        } else if (up->kind == Expr::Kind::kSubscript && up->operands[0] == place) {
          if (place->type.kind != Type::Kind::kArray) in_memory = true;
          place = up;
        } else {
          break;
        }
      }
      const Expr* user = place->parent;
      const bool is_array = place->type.kind == Type::Kind::kArray;
      if (in_memory) {
        ++variable.reads;
      } else if (bound_.count(place) != 0) {
        variable.address_taken = true;
        ++variable.reads;
      } else if (user != nullptr && user->kind == Expr::Kind::kAssign &&
                 user->operands[0] == place) {
        ++variable.writes;
        variable.write_sites.push_back(user);
        if (user->text != "=") ++variable.reads;
      } else if (user != nullptr && user->kind == Expr::Kind::kUnary && user->text.size() == 3) {
        ++variable.writes;
        variable.write_sites.push_back(user);
        ++variable.reads;
      } else if (user != nullptr && user->kind == Expr::Kind::kUnary && user->text == "&") {
        variable.address_taken = true;
        ++variable.reads;
      } else {
        ++variable.reads;
        // An array that decays to a pointer may be written through it.
        if (is_array && (user == nullptr || user->kind != Expr::Kind::kSubscript)) {
          variable.address_taken = true;
        }
      }
    }
  }

  clang::ASTContext& context_;
  const clang::SourceManager& sources_;
  TranslationUnit& unit_;
  TranslationUnit::Storage& store_;
  TypeConverter types_;
  std::map<const clang::ValueDecl*, Variable*> variables_;
  std::map<const clang::FunctionDecl*, const Function*> functions_;  ///< by canonical declaration
  std::vector<std::pair<Expr*, const clang::FunctionDecl*>> callees_;
  std::map<std::string, int> shadow_;
  std::set<const Expr*> bound_;  ///< operands bound to a non-const reference
  std::set<const Variable*> captured_;
  Function* function_ = nullptr;
  const Stmt* statement_ = nullptr;
  int outer_begin_ = -1;
};

}  // namespace

void build_ast(clang::ASTContext& context, TranslationUnit& unit) { Builder(context, unit).run(); }

}  // namespace hone::syntax
