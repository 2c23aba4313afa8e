#include "rewriters/syntax/host/record_parameters.h"

#include <clang/AST/DeclCXX.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>
#include <fmt/format.h>

namespace hone::syntax::host {
namespace {

/// Adds "float* p_x" to `parameters` and "p.x = p_x;" to `body` for every member.
bool spread(const clang::ASTContext& context, const clang::CXXRecordDecl& record,
            const std::string& object, const std::string& name, std::string& parameters,
            std::string& body) {
  if (record.getNumBases() != 0) return false;
  for (const clang::FieldDecl* field : record.fields()) {
    const clang::QualType type = field->getType();
    const std::string member = object + "." + field->getNameAsString();
    const std::string flat = name + "_" + field->getNameAsString();
    if (const auto* inner = type->getAsCXXRecordDecl()) {
      if (!inner->hasDefinition() || !spread(context, *inner, member, flat, parameters, body))
        return false;
      continue;
    }
    if (!type->isPointerType() && !type->isArithmeticType() && !type->isEnumeralType())
      return false;
    if (type.isConstQualified() || field->getAccess() != clang::AS_public) return false;
    parameters += (parameters.empty() ? "" : ", ") + type.getAsString(context.getPrintingPolicy()) +
                  " " + flat;
    body += fmt::format(" {} = {};", member, flat);
  }
  return !parameters.empty();
}

/// The class of parameter `i`; of a template's, what its launched instances have there. `several`:
/// they differ.
const clang::CXXRecordDecl* record_of(const clang::FunctionDecl& kernel, unsigned i,
                                      const std::vector<const clang::FunctionDecl*>& instances,
                                      bool& several) {
  const clang::QualType type = kernel.getParamDecl(i)->getType();
  if (!type->isDependentType()) return type->getAsCXXRecordDecl();
  const clang::CXXRecordDecl* found = nullptr;
  bool any = false;
  for (const clang::FunctionDecl* instance : instances) {
    const auto* pattern = instance->getTemplateInstantiationPattern();
    if (pattern == nullptr || pattern->getCanonicalDecl() != kernel.getCanonicalDecl()) continue;
    if (i >= instance->getNumParams()) continue;
    const auto* record = instance->getParamDecl(i)->getType()->getAsCXXRecordDecl();
    several = several || (any && record != found);
    found = record;
    any = true;
  }
  return found;
}

}  // namespace

SpreadRecords spread_records(clang::ASTContext& context, const clang::FunctionDecl& kernel,
                             const std::vector<const clang::FunctionDecl*>& instances) {
  SpreadRecords result;
  const clang::SourceManager& sources = context.getSourceManager();
  std::string body;
  bool first = true;  // of the parameters that are left
  for (unsigned i = 0; i < kernel.getNumParams(); ++i) {
    const clang::ParmVarDecl* parameter = kernel.getParamDecl(i);
    const std::string name = parameter->getNameAsString();
    bool several = false;
    const clang::CXXRecordDecl* record = record_of(kernel, i, instances, several);
    if (several) {
      result.problem = fmt::format(
          "parameter '{}' is another class in each launch; a task has one text for both: keep one "
          "launch with --kernel, or one kernel for each",
          name);
      continue;
    }
    const bool plain = record == nullptr || !record->hasDefinition() ||
                       record->getNameAsString() == "__half" ||
                       record->getNameAsString() == "__nv_bfloat16";
    if (plain) {
      first = false;
      continue;
    }
    const std::string type_name = record->isLambda() ? "lambda" : record->getNameAsString();
    std::string parameters;
    std::string assigned;
    const bool nothing = record->field_empty() && record->getNumBases() == 0;
    const bool built = record->hasDefaultConstructor() &&
                       (nothing || spread(context, *record, name, name, parameters, assigned));
    if (!built || name.empty()) {
      result.problem = fmt::format(
          "parameter '{}' is a '{}' by value, which a task cannot pass: {}", name, type_name,
          record->isLambda() ? "write its body into the kernel" : "pass its members instead");
      continue;
    }
    for (const clang::FunctionDecl* one : kernel.redecls()) {
      auto written = one->getParamDecl(i)->getSourceRange();
      // With nothing in its place, the comma beside it goes, too.
      const bool last = i + 1 == kernel.getNumParams();
      auto range = clang::Lexer::makeFileCharRange(clang::CharSourceRange::getTokenRange(written),
                                                   sources, context.getLangOpts());
      if (range.isInvalid()) continue;
      unsigned begin = sources.getFileOffset(range.getBegin());
      unsigned end = sources.getFileOffset(range.getEnd());
      if (nothing && !last) {
        end =
            sources.getFileOffset(sources.getExpansionLoc(one->getParamDecl(i + 1)->getBeginLoc()));
      } else if (nothing && !first) {
        const auto before = clang::Lexer::getLocForEndOfToken(
            sources.getExpansionLoc(one->getParamDecl(i - 1)->getEndLoc()), 0, sources,
            context.getLangOpts());
        begin = sources.getFileOffset(before);
      }
      result.edits.push_back({begin, end, parameters});
    }
    if (!nothing) first = false;
    body += fmt::format(
        " {} {};{}",
        parameter->getType().getUnqualifiedType().getAsString(context.getPrintingPolicy()), name,
        assigned);
    result.notes.push_back(fmt::format("parameter {} of {}: a {} by value; {}", name,
                                       kernel.getNameAsString(), type_name,
                                       nothing ? "it has no members, so the kernel makes its own"
                                               : "its members are passed one by one"));
  }
  if (!body.empty() && kernel.getBody() != nullptr) {
    const unsigned open =
        sources.getFileOffset(sources.getExpansionLoc(kernel.getBody()->getBeginLoc())) + 1;
    result.edits.push_back({open, open, body});
  }
  return result;
}

}  // namespace hone::syntax::host
