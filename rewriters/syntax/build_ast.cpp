#include "rewriters/syntax/build_ast.h"

#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/TypeLoc.h>
#include <clang/Lex/Lexer.h>

#include "rewriters/syntax/ast_builder.h"
#include "rewriters/syntax/ast_walk.h"

namespace hone::syntax {

using clang::dyn_cast;
using clang::isa;

void Builder::run() {
  declarations(context_.getTranslationUnitDecl());
  for (auto& [call, callee] : callees_) {
    const auto found = functions_.find(callee);
    if (found != functions_.end()) call->callee = found->second;
  }
  count_uses();
}

int Builder::position(clang::SourceLocation location) const {
  if (location.isInvalid()) return -1;
  auto [file, offset] = sources_.getDecomposedLoc(sources_.getExpansionLoc(location));
  // What stands behind the user's text was appended to instantiate templates.
  return file == sources_.getMainFileID() && offset < unit_.source.size() ? static_cast<int>(offset)
                                                                          : -1;
}

SourceRange Builder::range(clang::SourceRange clang_range) const {
  if (clang_range.isInvalid()) return {};
  auto chars = clang::Lexer::makeFileCharRange(clang::CharSourceRange::getTokenRange(clang_range),
                                               sources_, context_.getLangOpts());
  if (chars.isInvalid()) return {};
  auto [begin_file, begin] = sources_.getDecomposedLoc(chars.getBegin());
  auto [end_file, end] = sources_.getDecomposedLoc(chars.getEnd());
  if (begin_file != sources_.getMainFileID() || end_file != begin_file || end < begin) return {};
  return {static_cast<int>(begin), static_cast<int>(end)};
}

int Builder::skip_blank(int offset) const {
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

SourceRange Builder::with_semicolon(SourceRange plain) const {
  if (!plain.valid() || (plain.end > 0 && unit_.source[plain.end - 1] == ';')) return plain;
  const int next = skip_blank(plain.end);
  if (next < static_cast<int>(unit_.source.size()) && unit_.source[next] == ';') {
    plain.end = next + 1;
  }
  return plain;
}

SourceRange Builder::pragma_before(int loop_begin) const {
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

void Builder::declarations(const clang::DeclContext* scope) {
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

const clang::FunctionDecl& Builder::shown_form(const clang::FunctionTemplateDecl& decl) {
  const clang::FunctionDecl* pattern = decl.getTemplatedDecl();
  if (!pattern->hasAttr<clang::CUDAGlobalAttr>() || !pattern->hasBody()) return *pattern;
  bool hidden_text = false;
  AstWalk walk;
  walk.statement = [&](const clang::Stmt& statement) {
    const auto* branch = dyn_cast<clang::IfStmt>(&statement);
    hidden_text |= branch != nullptr && branch->isConstexpr();
  };
  walk.over(pattern->getBody());
  if (hidden_text) return *pattern;
  const clang::FunctionDecl* only = nullptr;
  for (const clang::FunctionDecl* instance : decl.specializations()) {
    if (only != nullptr) return *pattern;
    only = instance;
  }
  const bool usable = only != nullptr && only->doesThisDeclarationHaveABody() &&
                      only->getTemplateSpecializationKind() != clang::TSK_ExplicitSpecialization;
  return usable ? *only : *pattern;
}

void Builder::template_parameters(const clang::TemplateParameterList& list) {
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

Variable* Builder::global(const clang::VarDecl& decl) {
  Variable& variable = new_variable(decl);
  variable.symbol = variable.name + "#g";
  variable.storage = decl.hasAttr<clang::CUDAConstantAttr>() ? Variable::Storage::kConstant
                     : decl.hasAttr<clang::CUDASharedAttr>() ? shared_storage(decl)
                                                             : Variable::Storage::kGlobal;
  if (decl.hasInit()) variable.init = expression(decl.getInit());
  return &variable;
}

Variable::Storage Builder::shared_storage(const clang::VarDecl& decl) {
  return decl.hasExternalStorage() || isa<clang::IncompleteArrayType>(decl.getType())
             ? Variable::Storage::kDynamicShared
             : Variable::Storage::kShared;
}

Variable& Builder::new_variable(const clang::VarDecl& decl) {
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

void Builder::function(const clang::FunctionDecl& decl, bool is_template) {
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
      const auto number = [&](const clang::Expr* argument) {
        clang::Expr::EvalResult value;
        const bool known = argument != nullptr && !argument->isValueDependent() &&
                           argument->EvaluateAsInt(value, context_);
        return known ? static_cast<int>(value.Val.getInt().getExtValue()) : 0;
      };
      result.max_threads = number(bounds->getMaxThreads());
      result.min_blocks = bounds->getMaxBlocks() == nullptr ? number(bounds->getMinBlocks()) : 0;
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

void build_ast(clang::ASTContext& context, TranslationUnit& unit) { Builder(context, unit).run(); }

}  // namespace hone::syntax
