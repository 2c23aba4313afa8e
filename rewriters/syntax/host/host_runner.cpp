#include "rewriters/syntax/host/host_runner.h"

#include <clang/AST/Attr.h>
#include <clang/Lex/Lexer.h>
#include <fmt/format.h>

#include "rewriters/syntax/ast_walk.h"

namespace hone::syntax::host {
namespace {

constexpr int kMaxSteps = 400'000;
constexpr std::size_t kMaxDepth = 60;
constexpr int kAllocates = 1;
constexpr int kLaunches = 2;

/// What a statement does, without the functions that it calls.
struct Calls {
  int bits = 0;
  std::vector<const clang::FunctionDecl*> callees;

  explicit Calls(const clang::Stmt* statement) {
    AstWalk walk;
    walk.statement = [this](const clang::Stmt& one) {
      if (clang::isa<clang::CUDAKernelCallExpr>(one)) bits |= kLaunches;
      if (clang::isa<clang::CXXNewExpr>(one)) bits |= kAllocates;
      if (const auto* construct = clang::dyn_cast<clang::CXXConstructExpr>(&one))
        callees.push_back(construct->getConstructor());
      if (const auto* call = clang::dyn_cast<clang::CallExpr>(&one)) note(*call);
    };
    walk.over(statement);
  }

 private:
  void note(const clang::CallExpr& call) {
    const clang::FunctionDecl* callee = call.getDirectCallee();
    if (callee == nullptr) return;
    const std::string name = callee->getNameAsString();
    if (name.starts_with("cudaM") || name.starts_with("cudaHost") || name == "malloc" ||
        name == "calloc" || name == "make_unique" || name == "aligned_alloc")
      bits |= kAllocates;
    if (name.starts_with("cudaLaunch")) bits |= kLaunches;
    callees.push_back(callee);
  }
};

/// Functions that are called anywhere in the file, and the templates that they are made from.
std::set<const clang::FunctionDecl*> callees_in(const clang::Decl* file) {
  std::set<const clang::FunctionDecl*> found;
  AstWalk walk;
  walk.instantiations = true;
  walk.statement = [&](const clang::Stmt& one) {
    const auto* call = clang::dyn_cast<clang::CallExpr>(&one);
    const auto* callee = call != nullptr ? call->getDirectCallee() : nullptr;
    if (callee == nullptr) return;
    found.insert(callee->getCanonicalDecl());
    if (const auto* pattern = callee->getTemplateInstantiationPattern())
      found.insert(pattern->getCanonicalDecl());
  };
  walk.over(file);
  return found;
}

std::vector<const clang::FunctionDecl*> host_functions_in(const clang::Decl* file) {
  std::vector<const clang::FunctionDecl*> found;
  AstWalk walk;
  walk.instantiations = true;
  walk.declaration = [&](const clang::Decl& one) {
    const auto* function = clang::dyn_cast<clang::FunctionDecl>(&one);
    if (function != nullptr && function->isThisDeclarationADefinition() &&
        !function->isDependentContext() && !function->hasAttr<clang::CUDAGlobalAttr>() &&
        !function->isImplicit() &&
        !(function->hasAttr<clang::CUDADeviceAttr>() && !function->hasAttr<clang::CUDAHostAttr>()))
      found.push_back(function);
  };
  walk.over(file);
  return found;
}

}  // namespace

std::string HostRunner::where(clang::SourceLocation location) const {
  const auto& sources = context_.getSourceManager();
  const auto place = sources.getPresumedLoc(sources.getExpansionLoc(location));
  if (place.isInvalid()) return "?";
  return fmt::format("{}:{}", place.getFilename(), place.getLine());
}

std::string HostRunner::text_of(const clang::Expr* expression) const {
  const auto& sources = context_.getSourceManager();
  const auto range = sources.getExpansionRange(expression->getSourceRange());
  return clang::Lexer::getSourceText(range, sources, context_.getLangOpts()).str();
}

bool HostRunner::spend() { return ++steps_ < kMaxSteps; }

bool HostRunner::interesting(const clang::FunctionDecl* function) {
  const clang::FunctionDecl* definition = nullptr;
  if (function == nullptr || !function->hasBody(definition)) return false;
  const auto [entry, added] = interest_.emplace(definition->getCanonicalDecl(), 0);
  if (!added) return entry->second != 0;
  if (definition->hasAttr<clang::CUDAGlobalAttr>()) return false;
  const Calls calls(definition->getBody());
  int bits = calls.bits;
  for (const auto* callee : calls.callees) {
    if (!interesting(callee)) continue;
    const clang::FunctionDecl* body = nullptr;
    if (callee->hasBody(body)) bits |= interest_[body->getCanonicalDecl()];
  }
  interest_[definition->getCanonicalDecl()] = bits;
  return bits != 0;
}

bool HostRunner::interesting(const clang::Stmt* statement) {
  if (statement == nullptr) return false;
  const Calls calls(statement);
  if (calls.bits != 0) return true;
  return std::ranges::any_of(calls.callees,
                             [&](const auto* callee) { return interesting(callee); });
}

bool HostRunner::launches(const clang::Stmt* statement) {
  if (statement == nullptr) return false;
  const Calls calls(statement);
  if ((calls.bits & kLaunches) != 0) return true;
  return std::ranges::any_of(calls.callees, [&](const auto* callee) {
    const clang::FunctionDecl* body = nullptr;
    return interesting(callee) && callee->hasBody(body) &&
           (interest_[body->getCanonicalDecl()] & kLaunches) != 0;
  });
}

bool HostRunner::ends_program(const clang::Stmt* statement) {
  if (statement == nullptr) return false;
  bool found = false;
  AstWalk walk;
  walk.lambdas = false;
  walk.statement = [&](const clang::Stmt& one) {
    found |= clang::isa<clang::ReturnStmt>(one) || clang::isa<clang::CXXThrowExpr>(one);
    const auto* call = clang::dyn_cast<clang::CallExpr>(&one);
    const auto* callee = call != nullptr ? call->getDirectCallee() : nullptr;
    if (callee == nullptr) return;
    const std::string name = callee->getNameAsString();
    found |= name == "exit" || name == "abort" || name == "_exit" || callee->isNoReturn();
  };
  walk.over(statement);
  return found;
}

void HostRunner::reset() {
  facts_ = {};
  origins_.clear();
  launched_.clear();
  filled_symbols_.clear();
  globals_.clear();
  frames_.clear();
  contents_.clear();
  steps_ = 0;
}

void HostRunner::run() {
  const auto functions = host_functions_in(context_.getTranslationUnitDecl());
  const clang::FunctionDecl* main = nullptr;
  for (const auto* function : functions)
    if (function->isMain()) main = function;
  if (main != nullptr) {
    run_entry(*main, true);
    if (facts_.launches.empty()) {
      reset();
      run_entry(*main, false);
    }
    if (!facts_.launches.empty()) return;
    reset();
  }
  const auto callees = callees_in(context_.getTranslationUnitDecl());
  for (const auto* function : functions) {
    if (function == main || callees.contains(function->getCanonicalDecl())) continue;
    if (!launches(function->getBody())) continue;
    steps_ = 0;
    run_entry(*function, false);
  }
}

Value HostRunner::unknown_parameter(const clang::ParmVarDecl& parameter) {
  const clang::QualType type = parameter.getType();
  const std::string name = parameter.getNameAsString();
  if (type->isPointerType() && !type->getPointeeType()->isPointerType() &&
      !type->getPointeeType()->isCharType()) {
    return allocate(nullptr, name, false, parameter.getLocation());
  }
  if (type->isIntegerType() && !type->isBooleanType())
    return guess(name, static_cast<const clang::Decl*>(&parameter), parameter.getLocation());
  return {};
}

void HostRunner::run_entry(const clang::FunctionDecl& function, bool arguments_known) {
  arguments_known_ = arguments_known;
  std::vector<Value> arguments;
  for (const auto* parameter : function.parameters()) {
    if (function.isMain()) {
      Value value;
      if (arguments_known && parameter->getType()->isIntegerType()) {
        value = int_value(constant(1));
        value.from_arguments = true;
      }
      arguments.push_back(std::move(value));
    } else {
      arguments.push_back(unknown_parameter(*parameter));
    }
  }
  call(function, std::move(arguments), {}, nullptr);
}

Value HostRunner::call(const clang::FunctionDecl& function, std::vector<Value> arguments,
                       std::vector<CellPtr> references, CellPtr self) {
  const clang::FunctionDecl* definition = nullptr;
  if (!function.hasBody(definition) || frames_.size() >= kMaxDepth || !spend()) return {};
  Frame frame;
  frame.self = std::move(self);
  frame.by_reference = definition->getReturnType()->isReferenceType();
  for (unsigned i = 0; i < definition->getNumParams(); ++i) {
    const clang::ParmVarDecl* parameter = definition->getParamDecl(i);
    CellPtr cell =
        i < references.size() && parameter->getType()->isReferenceType() ? references[i] : nullptr;
    if (cell == nullptr) {
      cell = std::make_shared<Cell>();
      Value value = i < arguments.size() ? arguments[i] : Value{};
      if (value.is_int() && parameter->getType()->isIntegerType())
        value = named(std::move(value), parameter->getNameAsString(),
                      static_cast<const clang::Decl*>(parameter), parameter->getLocation());
      store_cell(cell, std::move(value));
    }
    frame.variables[parameter] = cell;
  }
  frames_.push_back(std::move(frame));
  if (const auto* constructor = clang::dyn_cast<clang::CXXConstructorDecl>(definition)) {
    for (const clang::CXXCtorInitializer* init : constructor->inits()) {
      const clang::FieldDecl* field = init->getAnyMember();
      const CellPtr& record = frames_.back().self;
      if (init->isBaseInitializer() || init->isDelegatingInitializer()) {
        if (const auto* base = clang::dyn_cast_or_null<clang::CXXConstructExpr>(init->getInit());
            base != nullptr && record != nullptr)
          eval_construct(*base, record);
        continue;
      }
      if (field == nullptr || record == nullptr) continue;
      auto& member = record->members[field];
      if (member == nullptr) member = std::make_shared<Cell>();
      store_cell(member, eval(init->getInit()));
    }
  }
  const Flow flow = execute(definition->getBody());
  Value result = frames_.back().result;
  returned_place_ = frames_.back().result_place;
  frames_.pop_back();
  if (flow == Flow::kExit) steps_ = kMaxSteps;  // nothing more happens
  return result;
}

}  // namespace hone::syntax::host
