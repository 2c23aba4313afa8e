#include "rewriters/syntax/host/device_code.h"

#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/Expr.h>
#include <clang/Lex/Lexer.h>
#include <fmt/format.h>

#include <algorithm>

#include "rewriters/syntax/host/cutter.h"
#include "rewriters/syntax/host/record_parameters.h"

namespace hone::syntax::host {
namespace {

using clang::dyn_cast;

/// "f32" for a record whose members are all float; empty when they differ.
std::string number_type(const clang::ASTContext& context, clang::QualType type) {
  while (const auto* array = context.getAsArrayType(type)) type = array->getElementType();
  if (const auto* record = type->getAsCXXRecordDecl()) {
    if (!record->hasDefinition() || record->getNumBases() != 0 || record->isUnion()) return "";
    std::string found;
    for (const clang::FieldDecl* field : record->fields()) {
      const std::string one = number_type(context, field->getType());
      if (one.empty() || (!found.empty() && found != one)) return "";
      found = one;
    }
    return found;
  }
  const auto bits = type->isArithmeticType() ? context.getTypeSize(type) : 0;
  if (type->isFloatingType()) return bits == 64 ? "f64" : bits == 32 ? "f32" : "";
  if (!type->isIntegerType()) return "";
  const bool is_signed = type->isSignedIntegerType();
  return bits == 64   ? (is_signed ? "i64" : "u64")
         : bits == 32 ? (is_signed ? "i32" : "u32")
         : bits == 8  ? (is_signed ? "i8" : "u8")
                      : "";
}

}  // namespace

unsigned Cutter::statement_end(unsigned at) const {
  while (at < text_.size()) {
    const char c = text_[at];
    if (c == '/' && text_.substr(at).starts_with("//")) {
      at = static_cast<unsigned>(std::min(text_.find('\n', at), text_.size()));
    } else if (c == '/' && text_.substr(at).starts_with("/*")) {
      const auto close = text_.find("*/", at + 2);
      at = close == llvm::StringRef::npos ? static_cast<unsigned>(text_.size())
                                          : static_cast<unsigned>(close) + 2;
    } else if (c == ';') {
      return at + 1;
    } else {
      ++at;
    }
  }
  return at;
}

void Cutter::wrap(const clang::Decl* decl, Piece& piece) const {
  std::vector<std::string> chain;
  for (const clang::DeclContext* context = decl->getLexicalDeclContext(); context != nullptr;
       context = context->getLexicalParent()) {
    if (const auto* space = dyn_cast<clang::NamespaceDecl>(context)) {
      if (!space->isAnonymousNamespace())
        chain.push_back(fmt::format("{}namespace {} {{", space->isInline() ? "inline " : "",
                                    space->getNameAsString()));
    } else if (const auto* linkage = dyn_cast<clang::LinkageSpecDecl>(context)) {
      if (linkage->hasBraces() && linkage->getLanguage() == clang::LinkageSpecLanguageIDs::C)
        chain.emplace_back("extern \"C\" {");
    }
  }
  for (auto part = chain.rbegin(); part != chain.rend(); ++part) piece.wrapper += *part + " ";
  piece.closing = static_cast<int>(chain.size());
}

Cutter::Piece Cutter::piece_of(const clang::Decl* decl) const {
  Piece piece;
  piece.begin = offset(decl->getBeginLoc());
  const clang::FunctionDecl* function = decl->getAsFunction();
  if (function == nullptr) {
    if (const auto* pattern = dyn_cast<clang::FunctionTemplateDecl>(decl))
      function = pattern->getTemplatedDecl();
  }
  const clang::Decl* attributed = function != nullptr ? function : decl;
  for (const clang::Attr* attribute : attributed->attrs()) {
    if (!attribute->isImplicit() && in_main(attribute->getLocation()))
      piece.begin = std::min(piece.begin, offset(attribute->getLocation()));
  }
  if (const auto* linkage = dyn_cast<clang::LinkageSpecDecl>(decl->getLexicalDeclContext());
      linkage != nullptr && !linkage->hasBraces() && in_main(linkage->getBeginLoc()))
    piece.begin = std::min(piece.begin, offset(linkage->getBeginLoc()));
  const auto last = sources_.getExpansionRange(decl->getSourceRange()).getEnd();
  piece.end = sources_.getFileOffset(last) +
              clang::Lexer::MeasureTokenLength(last, sources_, context_.getLangOpts());
  const bool has_body = function != nullptr && function->doesThisDeclarationHaveABody();
  const bool by_macro = decl->getBeginLoc().isMacroID() && decl->getEndLoc().isMacroID();
  if (!has_body && !(by_macro && text_.substr(piece.end).ltrim().front() != ';'))
    piece.end = statement_end(piece.end);
  wrap(decl, piece);
  return piece;
}

std::string Cutter::definition_text(const std::string& name, const clang::MacroInfo& macro) const {
  std::string text = "#define " + name;
  if (macro.isFunctionLike()) {
    std::string parameters;
    for (const clang::IdentifierInfo* parameter : macro.params())
      parameters +=
          (parameters.empty() ? "" : ", ") +
          (parameter->getName() == "__VA_ARGS__" ? std::string("...") : parameter->getName().str());
    text += "(" + parameters + ")";
  }
  for (const clang::Token& token : macro.tokens()) {
    if (token.hasLeadingSpace() || &token == &*macro.tokens_begin()) text += " ";
    text += preprocessor_.getSpelling(token);
  }
  return text;
}

/// Macros that kept text uses, with those that their bodies use: #define lines of the file are
/// pieces like others, -D and the headers' come first.
void Cutter::add_macros() {
  std::set<const clang::MacroInfo*> seen;
  const auto kept = [&](unsigned at) {
    return std::ranges::any_of(cut_.ranges,
                               [&](const auto& r) { return r.first <= at && at < r.second; });
  };
  for (const MacroRecord::Use& use : record_.uses) {
    if (use.macro == nullptr || use.macro->isBuiltinMacro() || !kept(use.offset)) continue;
    cut_.kept_macros.insert(use.name);
    if (!seen.insert(use.macro).second) continue;
    const clang::SourceLocation at = use.macro->getDefinitionLoc();
    if (in_main(at)) {
      const unsigned name_at = offset(at);
      if (kept(name_at)) continue;
      const auto hash = text_.rfind('#', name_at);
      if (hash == llvm::StringRef::npos) continue;
      Piece piece;
      piece.is_macro = true;
      piece.name = use.name;
      piece.begin = static_cast<unsigned>(hash);
      const clang::SourceLocation last = use.macro->getDefinitionEndLoc();
      piece.end =
          offset(last) + clang::Lexer::MeasureTokenLength(last, sources_, context_.getLangOpts());
      pieces_.push_back(piece);
      continue;
    }
    const auto presumed = sources_.getPresumedLoc(at);
    const llvm::StringRef file = presumed.isValid() ? presumed.getFilename() : "";
    if (const std::string header = header_of(at); !header.empty()) {
      headers_.insert(header);
    } else if (file == "<command line>" || file.ends_with("host.h")) {
      if (prologue_names_.insert(use.name).second)
        prologue_.push_back(definition_text(use.name, *use.macro));
    }
  }
}

/// __constant__ memory that the host fills has no host in a task: it starts with values of ours.
void Cutter::initialise(const clang::VarDecl& variable) {
  if (!variable.hasAttr<clang::CUDAConstantAttr>() || variable.hasInit()) return;
  clang::QualType element = variable.getType();
  std::vector<std::int64_t> extents;
  while (const auto* array = context_.getAsConstantArrayType(element)) {
    extents.push_back(static_cast<std::int64_t>(array->getSize().getZExtValue()));
    element = array->getElementType();
  }
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) count *= extent;
  const bool scalar = element->isFloatingType() || element->isIntegerType();
  if (!scalar || count > 16384) {
    cut_.code.problems.push_back(fmt::format(
        "{}: __constant__ '{}' is filled by the host, which a task does not have; pass it to the "
        "kernel as a pointer instead",
        where(variable.getLocation()), variable.getNameAsString()));
    return;
  }
  std::string values;
  for (std::int64_t i = 0; i < count; ++i) {
    // 0.125 to 1 in eighths, in an order without a period of a power of two.
    const std::int64_t step = (i * 5 + 2) % 7 + 1;
    values += (i == 0 ? "" : i % 16 == 0 ? ",\n    " : ", ");
    values += element->isFloatingType() ? fmt::format("{}", static_cast<double>(step) / 8)
                                        : fmt::format("{}", step);
    if (element->isSpecificBuiltinType(clang::BuiltinType::Float)) values += "f";
  }
  const unsigned end = [&] {
    const auto last = sources_.getExpansionRange(variable.getSourceRange()).getEnd();
    return sources_.getFileOffset(last) +
           clang::Lexer::MeasureTokenLength(last, sources_, context_.getLangOpts());
  }();
  edits_.push_back({end, end, extents.empty() ? " = " + values : " = {" + values + "}"});
  cut_.code.notes.push_back(
      fmt::format("__constant__ {}: the host fills it ({}); a task has no host, so it starts with "
                  "values of ours",
                  variable.getNameAsString(), where(variable.getLocation())));
}

/// constexpr int n = std::min(a, b): its value, since NVRTC has no <algorithm>.
void Cutter::without_std(const clang::VarDecl& variable) {
  const clang::Expr* init = variable.getInit();
  if (init == nullptr || init->isValueDependent() || init->containsErrors() ||
      !variable.getType()->isIntegerType())
    return;
  const auto range = sources_.getExpansionRange(init->getSourceRange());
  const auto shown = clang::Lexer::getSourceText(range, sources_, context_.getLangOpts());
  clang::Expr::EvalResult result;
  if (!shown.contains("std::") || !init->EvaluateAsInt(result, context_)) return;
  const unsigned begin = sources_.getFileOffset(range.getBegin());
  edits_.push_back({begin, begin + static_cast<unsigned>(shown.size()),
                    std::to_string(result.Val.getInt().getExtValue())});
}

void Cutter::add_edits() {
  for (const clang::Decl* decl : outer_) {
    if (const auto* variable = dyn_cast<clang::VarDecl>(decl)) {
      initialise(*variable);
      without_std(*variable);
    }
    const auto* record = dyn_cast<clang::CXXRecordDecl>(decl);
    if (const auto* pattern = dyn_cast<clang::ClassTemplateDecl>(decl))
      record = pattern->getTemplatedDecl();
    if (record != nullptr && record->isThisDeclarationADefinition()) {
      if (!record->isDependentContext()) {
        const std::string type = number_type(context_, context_.getRecordType(record));
        cut_.code.records[record->getNameAsString()] = type;
        cut_.code.records[record->getQualifiedNameAsString()] = type;
      }
      // Its host functions go.
      for (const clang::Decl* member : record->decls()) {
        const clang::FunctionDecl* method = member->getAsFunction();
        if (method == nullptr || method->isImplicit() || runs_on_device(*method) ||
            method->isPureVirtual() || !in_main(member->getBeginLoc()))
          continue;
        const Piece piece = piece_of(member);
        edits_.push_back({piece.begin, piece.end, ""});
      }
    }
    const clang::FunctionDecl* function = decl->getAsFunction();
    if (function != nullptr && function->hasAttr<clang::CUDAGlobalAttr>() &&
        function->doesThisDeclarationHaveABody()) {
      const auto spread = spread_records(context_, *function, kernels_);
      if (!spread.problem.empty())
        cut_.code.problems.push_back(where(function->getLocation()) + ": " + spread.problem);
      for (const auto& edit : spread.edits) edits_.push_back({edit.begin, edit.end, edit.text});
      for (const std::string& note : spread.notes) cut_.code.notes.push_back(note);
    }
  }
  for (const auto& [begin, end] : record_.skipped) {
    const auto from = text_.rfind('\n', begin);
    edits_.push_back(
        {from == llvm::StringRef::npos ? 0 : static_cast<unsigned>(from) + 1, end, ""});
  }
  for (const unsigned at : record_.directives) {
    const auto from = text_.rfind('\n', at);
    unsigned end = at;
    while (end < text_.size() && !(text_[end] == '\n' && text_[end - 1] != '\\')) ++end;
    edits_.push_back(
        {from == llvm::StringRef::npos ? 0 : static_cast<unsigned>(from) + 1, end, ""});
  }
  for (std::size_t at = text_.find("#line "); at != llvm::StringRef::npos;
       at = text_.find("#line ", at + 1)) {
    if (at != 0 && text_[at - 1] != '\n') continue;
    edits_.push_back({static_cast<unsigned>(at),
                      static_cast<unsigned>(std::min(text_.find('\n', at), text_.size())), ""});
  }
  std::ranges::stable_sort(
      edits_, {}, [](const Edit& e) { return std::pair(e.begin, -static_cast<long>(e.end)); });
}

std::string Cutter::emitted(const Piece& piece) const {
  std::string out;
  unsigned at = piece.begin;
  for (const Edit& edit : edits_) {
    if (edit.end <= piece.begin && !(edit.begin == edit.end && edit.begin >= piece.begin)) continue;
    if (edit.begin >= piece.end && !(edit.begin == piece.end && edit.begin == edit.end)) break;
    const unsigned begin = std::max(edit.begin, piece.begin);
    if (begin < at && edit.begin != edit.end) {
      at = std::max(at, std::min(edit.end, piece.end));
      continue;
    }
    if (begin < at) continue;
    out += text_.substr(at, begin - at).str();
    out += edit.text;
    at = std::max(at, std::min(std::max(edit.end, begin), piece.end));
  }
  out += text_.substr(at, piece.end - at).str();
  return out;
}

Cut Cutter::run(const std::vector<const clang::FunctionDecl*>& kernels) {
  kernels_ = kernels;
  close_over(kernels);
  for (const clang::Decl* decl : outer_) {
    const clang::FunctionDecl* function = decl->getAsFunction();
    if (function != nullptr && !runs_on_device(*function)) {
      const clang::FunctionDecl* body = nullptr;
      cut_.code.problems.push_back(
          fmt::format("{}: device code uses the host function '{}': mark it __device__ or cut it",
                      where(function->getLocation()), function->getNameAsString()));
      (void)body;
    }
    pieces_.push_back(piece_of(decl));
  }
  std::ranges::sort(pieces_, {}, [](const Piece& p) { return std::pair(p.begin, p.end); });
  // Declarations that share text, `struct A {…} a;`, are one piece.
  std::vector<Piece> merged;
  for (const Piece& piece : pieces_) {
    if (!merged.empty() && piece.begin < merged.back().end) {
      merged.back().end = std::max(merged.back().end, piece.end);
    } else {
      merged.push_back(piece);
    }
  }
  pieces_ = std::move(merged);
  for (const Piece& piece : pieces_) cut_.ranges.emplace_back(piece.begin, piece.end);
  add_macros();
  add_edits();
  std::ranges::stable_sort(pieces_, {}, [](const Piece& p) { return p.begin; });

  std::string& out = cut_.code.text;
  for (const std::string& header : headers_) out += fmt::format("#include <{}>\n", header);
  for (const std::string& line : prologue_) out += line + "\n";
  if (!out.empty()) out += "\n";
  std::set<std::string> defined;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    const bool opens = i == 0 || pieces_[i - 1].wrapper != piece.wrapper;
    const bool closes = i + 1 == pieces_.size() || pieces_[i + 1].wrapper != piece.wrapper;
    if (piece.is_macro) {
      if (!defined.insert(piece.name).second) out += "#undef " + piece.name + "\n";
      out += emitted(piece) + "\n";
      if (closes) out += "\n";
      continue;
    }
    if (opens && !piece.wrapper.empty()) out += piece.wrapper + "\n";
    out += emitted(piece) + "\n";
    if (closes && piece.closing > 0)
      out += std::string(static_cast<std::size_t>(piece.closing), '}') + "\n";
    out += "\n";
  }
  for (const clang::FunctionDecl* kernel : kernels)
    cut_.code.kernels.push_back(kernel->getNameAsString());
  return std::move(cut_);
}

Cut cut_device_code(clang::ASTContext& context, clang::Preprocessor& preprocessor,
                    const MacroRecord& record,
                    const std::vector<const clang::FunctionDecl*>& kernels) {
  return Cutter(context, preprocessor, record).run(kernels);
}

}  // namespace hone::syntax::host
