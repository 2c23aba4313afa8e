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
    if (type.isConstQualified()) return false;
    parameters += (parameters.empty() ? "" : ", ") + type.getAsString(context.getPrintingPolicy()) +
                  " " + flat;
    body += fmt::format(" {} = {};", member, flat);
  }
  return !parameters.empty();
}

}  // namespace

SpreadRecords spread_records(clang::ASTContext& context, const clang::FunctionDecl& kernel) {
  SpreadRecords result;
  const clang::SourceManager& sources = context.getSourceManager();
  std::string body;
  for (unsigned i = 0; i < kernel.getNumParams(); ++i) {
    const clang::ParmVarDecl* parameter = kernel.getParamDecl(i);
    const clang::CXXRecordDecl* record = parameter->getType()->getAsCXXRecordDecl();
    if (record == nullptr || !record->hasDefinition()) continue;
    const std::string type_name = record->getNameAsString();
    if (type_name == "__half" || type_name == "__nv_bfloat16") continue;
    const std::string name = parameter->getNameAsString();
    std::string parameters;
    std::string assigned;
    const bool built = record->hasDefaultConstructor() &&
                       spread(context, *record, name, name, parameters, assigned);
    if (!built || name.empty()) {
      result.problem = fmt::format(
          "parameter '{}' is a '{}' by value, which a task cannot pass: pass its members instead",
          name, type_name);
      continue;
    }
    for (const clang::FunctionDecl* one : kernel.redecls()) {
      const auto range = clang::Lexer::makeFileCharRange(
          clang::CharSourceRange::getTokenRange(one->getParamDecl(i)->getSourceRange()), sources,
          context.getLangOpts());
      if (range.isInvalid()) continue;
      result.edits.push_back({sources.getFileOffset(range.getBegin()),
                              sources.getFileOffset(range.getEnd()), parameters});
    }
    body += fmt::format(
        " {} {};{}",
        parameter->getType().getUnqualifiedType().getAsString(context.getPrintingPolicy()), name,
        assigned);
    result.notes.push_back(
        fmt::format("parameter {} of {}: a {} by value; its members are passed one by one", name,
                    kernel.getNameAsString(), type_name));
  }
  if (!body.empty() && kernel.getBody() != nullptr) {
    const unsigned open =
        sources.getFileOffset(sources.getExpansionLoc(kernel.getBody()->getBeginLoc())) + 1;
    result.edits.push_back({open, open, body});
  }
  return result;
}

}  // namespace hone::syntax::host
