// Which declarations of a file its kernels need: functions, types, variables, and the headers of
// CUDA's that the rest stands in.
#include <clang/AST/Attr.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "rewriters/syntax/ast_walk.h"
#include "rewriters/syntax/clang_run.h"
#include "rewriters/syntax/host/cutter.h"

namespace hone::syntax::host {
namespace {

using clang::dyn_cast;
using clang::isa;

using Found = std::deque<const clang::Decl*>;

/// The record or enumeration that a type is made from.
void find_in_type(clang::QualType type, Found& found) {
  for (int depth = 0; depth < 8; ++depth) {
    if (const auto* pointer = type->getAs<clang::PointerType>()) {
      type = pointer->getPointeeType();
    } else if (const auto* reference = type->getAs<clang::ReferenceType>()) {
      type = reference->getPointeeType();
    } else if (const auto* array = type->getAsArrayTypeUnsafe()) {
      type = array->getElementType();
    } else {
      break;
    }
  }
  if (const auto* tag = type->getAsTagDecl()) found.push_back(tag);
}

void find_in_expression(const clang::Expr& expression, Found& found) {
  if (!expression.getType().isNull()) find_in_type(expression.getType(), found);
  if (const auto* reference = dyn_cast<clang::DeclRefExpr>(&expression)) {
    found.push_back(reference->getDecl());
  } else if (const auto* member = dyn_cast<clang::MemberExpr>(&expression)) {
    found.push_back(member->getMemberDecl());
  } else if (const auto* overloads = dyn_cast<clang::OverloadExpr>(&expression)) {
    for (const clang::NamedDecl* decl : overloads->decls()) found.push_back(decl);
  } else if (const auto* construct = dyn_cast<clang::CXXConstructExpr>(&expression)) {
    found.push_back(construct->getConstructor());
  }
}

/// Where it names a type.
void find_in_location(clang::TypeLoc location, Found& found) {
  if (const auto alias = location.getAs<clang::TypedefTypeLoc>()) {
    found.push_back(alias.getTypedefNameDecl());
  } else if (const auto tag = location.getAs<clang::TagTypeLoc>()) {
    found.push_back(tag.getDecl());
  } else if (const auto shadow = location.getAs<clang::UsingTypeLoc>()) {
    found.push_back(shadow.getFoundDecl());
  } else if (const auto injected = location.getAs<clang::InjectedClassNameTypeLoc>()) {
    found.push_back(injected.getDecl());
  } else if (const auto made = location.getAs<clang::TemplateSpecializationTypeLoc>()) {
    if (const auto* decl = made.getTypePtr()->getTemplateName().getAsTemplateDecl())
      found.push_back(decl);
  }
}

/// What a declaration or a statement needs; a record is kept without its host functions.
template <class Root>
void find_needs(const Root* root, Found& found) {
  AstWalk walk;
  walk.statement = [&](const clang::Stmt& statement) {
    if (const auto* expression = dyn_cast<clang::Expr>(&statement))
      find_in_expression(*expression, found);
  };
  walk.type = [&](clang::TypeLoc location) { find_in_location(location, found); };
  walk.qualifier = [&](clang::NestedNameSpecifierLoc qualifier) {
    const auto* name = qualifier.getNestedNameSpecifier();
    if (name->getKind() == clang::NestedNameSpecifier::NamespaceAlias)
      found.push_back(name->getAsNamespaceAlias());
  };
  walk.enters = [](const clang::Decl& one) {
    const auto* method = dyn_cast<clang::CXXMethodDecl>(&one);
    return method == nullptr || isa<clang::CXXConversionDecl>(method) || runs_on_device(*method);
  };
  walk.over(root);
}

}  // namespace

bool runs_on_device(const clang::FunctionDecl& function) {
  return function.hasAttr<clang::CUDADeviceAttr>() || function.hasAttr<clang::CUDAGlobalAttr>() ||
         function.isConstexpr() || function.isDefaulted();
}

std::string Cutter::where(clang::SourceLocation location) const {
  const auto place = sources_.getPresumedLoc(sources_.getExpansionLoc(location));
  return place.isInvalid() ? "?" : fmt::format("{}:{}", place.getFilename(), place.getLine());
}

/// "cuda_fp16.h" for what stands in a header of CUDA's that the prelude's folder has.
std::string Cutter::header_of(clang::SourceLocation location) const {
  std::string found;
  clang::FileID file = sources_.getFileID(sources_.getExpansionLoc(location));
  while (file.isValid() && file != sources_.getMainFileID()) {
    const auto entry = sources_.getFileEntryRefForID(file);
    if (entry && entry->getName().starts_with(kHeaderFolder))
      found = entry->getName().drop_front(sizeof(kHeaderFolder)).str();
    file = sources_.getFileID(sources_.getIncludeLoc(file));
  }
  return found;
}

const clang::Decl* Cutter::outermost(const clang::Decl* decl) const {
  const clang::Decl* result = decl;
  for (const clang::DeclContext* context = decl->getLexicalDeclContext(); context != nullptr;
       context = context->getLexicalParent()) {
    if (context->isFileContext() || isa<clang::LinkageSpecDecl>(context)) break;
    result = clang::Decl::castFromDeclContext(context);
  }
  if (const auto* function = dyn_cast<clang::FunctionDecl>(result)) {
    if (const auto* pattern = function->getDescribedFunctionTemplate()) return pattern;
  }
  if (const auto* record = dyn_cast<clang::CXXRecordDecl>(result)) {
    if (const auto* pattern = record->getDescribedClassTemplate()) return pattern;
  }
  if (const auto* variable = dyn_cast<clang::VarDecl>(result)) {
    if (const auto* pattern = variable->getDescribedVarTemplate()) return pattern;
  }
  if (const auto* alias = dyn_cast<clang::TypeAliasDecl>(result)) {
    if (const auto* pattern = alias->getDescribedAliasTemplate()) return pattern;
  }
  return result;
}

void Cutter::outside(const clang::Decl* decl) {
  const std::string header = header_of(decl->getLocation());
  if (!header.empty()) {
    headers_.insert(header);
    return;
  }
  // Names that every C library has and NVRTC does not: `uint`.
  if (const auto* alias = dyn_cast<clang::TypedefNameDecl>(decl);
      alias != nullptr && sources_.getFilename(decl->getLocation()).ends_with("host.h") &&
      alias->getUnderlyingType()->isIntegerType() &&
      prologue_names_.insert(alias->getNameAsString()).second) {
    prologue_.push_back(fmt::format(
        "typedef {} {};", alias->getUnderlyingType().getAsString(context_.getPrintingPolicy()),
        alias->getNameAsString()));
  }
}

void Cutter::keep(const clang::Decl* decl) {
  if (decl == nullptr || decl->isImplicit() || isa<clang::ParmVarDecl>(decl)) return;
  if (const auto* variable = dyn_cast<clang::VarDecl>(decl);
      variable != nullptr && variable->isLocalVarDecl() && !variable->hasExternalStorage())
    return;
  if (const auto* function = dyn_cast<clang::FunctionDecl>(decl)) {
    if (const auto* pattern = function->getTemplateInstantiationPattern()) decl = pattern;
  } else if (const auto* record = dyn_cast<clang::CXXRecordDecl>(decl)) {
    if (const auto* pattern = record->getTemplateInstantiationPattern()) decl = pattern;
  } else if (const auto* member = dyn_cast<clang::FieldDecl>(decl)) {
    keep(member->getParent());
    return;
  }
  if (!in_main(decl->getLocation())) {
    outside(decl);
    return;
  }
  cut_.kept.insert(decl->getCanonicalDecl());
  for (const clang::Decl* one : decl->redecls()) {
    if (!in_main(one->getLocation())) continue;
    // A friend or a local declaration comes with what is around it.
    outer_.insert(outermost(one));
  }
  if (const auto* method = dyn_cast<clang::CXXMethodDecl>(decl)) keep(method->getParent());
}

void Cutter::close_over(const std::vector<const clang::FunctionDecl*>& kernels) {
  std::deque<const clang::Decl*> open;
  std::set<const clang::Decl*> done;
  for (const clang::FunctionDecl* kernel : kernels) keep(kernel);
  // The types that template arguments name.
  for (const clang::FunctionDecl* kernel : kernels) {
    if (const auto* list = kernel->getTemplateSpecializationArgs()) {
      for (const clang::TemplateArgument& argument : list->asArray()) {
        if (argument.getKind() == clang::TemplateArgument::Type) {
          if (const auto* tag = argument.getAsType()->getAsTagDecl()) keep(tag);
        } else if (argument.getKind() == clang::TemplateArgument::Declaration) {
          keep(argument.getAsDecl());
        }
      }
    }
    // What an instance calls is only known there.
    if (kernel->isTemplateInstantiation()) find_needs(kernel->getBody(), open);
  }
  while (true) {
    const std::set<const clang::Decl*> now = outer_;
    for (const clang::Decl* decl : now) {
      if (done.insert(decl).second) find_needs(decl, open);
    }
    if (open.empty() && now.size() == outer_.size()) break;
    while (!open.empty()) {
      const clang::Decl* next = open.front();
      open.pop_front();
      if (const auto* shadow = dyn_cast<clang::UsingShadowDecl>(next))
        next = shadow->getTargetDecl();
      if (const auto* alias = dyn_cast<clang::NamespaceAliasDecl>(next)) {
        if (in_main(alias->getLocation())) outer_.insert(alias);
        continue;
      }
      if (const auto* pattern = dyn_cast<clang::TemplateDecl>(next))
        next = pattern->getTemplatedDecl() ? pattern->getTemplatedDecl() : next;
      if (const auto* item = dyn_cast<clang::EnumConstantDecl>(next)) {
        keep(item);
        keep(clang::cast<clang::Decl>(item->getDeclContext()));
        continue;
      }
      keep(next);
      // An instantiated device function: what its body resolves to.
      if (const auto* function = dyn_cast<clang::FunctionDecl>(next);
          function != nullptr && function->isTemplateInstantiation() &&
          done.insert(function).second) {
        const clang::FunctionDecl* body = nullptr;
        if (function->hasBody(body) && in_main(function->getLocation()))
          find_needs(body->getBody(), open);
      }
    }
  }
  // using namespace cooperative_groups; and such, where they stand at file scope.
  for (const clang::Decl* decl : context_.getTranslationUnitDecl()->noload_decls()) {
    const auto* directive = dyn_cast<clang::UsingDirectiveDecl>(decl);
    if (directive == nullptr || !in_main(directive->getLocation())) continue;
    const clang::NamespaceDecl* space = directive->getNominatedNamespace();
    if (space == nullptr || space->isStdNamespace()) continue;
    const bool ours = std::ranges::any_of(outer_, [&](const clang::Decl* kept) {
      return space->Encloses(kept->getDeclContext()) ||
             std::ranges::any_of(space->redecls(), [&](const auto* part) {
               return part->Encloses(kept->getDeclContext());
             });
    });
    const std::string header = header_of(space->getLocation());
    if (ours || headers_.contains(header)) outer_.insert(directive);
  }
}

}  // namespace hone::syntax::host
