// structural_hash() and formatted(): a program as tokens, and as text for people.
#include <clang/Basic/LangOptions.h>
#include <clang/Basic/SourceLocation.h>
#include <clang/Format/Format.h>
#include <clang/Lex/Lexer.h>
#include <clang/Tooling/Core/Replacement.h>

#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "candidates/hash.h"
#include "rewriters/syntax/parse.h"

namespace hone::syntax {
namespace {

/// Names that the file itself declares and that mean nothing outside it.
std::set<std::string> declared_names(const TranslationUnit& unit) {
  std::set<std::string> names;
  for (const Variable* global : unit.globals) names.insert(global->name);
  for (const Function* function : unit.functions) {
    if (!function->name.starts_with("operator")) names.insert(function->name);
    for (const Variable* parameter : function->parameters) names.insert(parameter->name);
    for (const Variable* local : function->locals) names.insert(local->name);
  }
  names.erase("");
  return names;
}

/// Gives declared names numbers in order of first appearance. One spelling, one number: two
/// programs with equal text after renaming differ by a one-to-one renaming only.
class Renamer {
 public:
  explicit Renamer(std::set<std::string> names) : names_(std::move(names)) {}

  std::string operator()(const std::string& name) {
    if (names_.count(name) == 0) return name;
    const auto [entry, added] = numbers_.try_emplace(name, numbers_.size());
    return "$" + std::to_string(entry->second);
  }

 private:
  std::set<std::string> names_;
  std::unordered_map<std::string, std::size_t> numbers_;
};

std::string token_text(const std::string& source, Renamer& rename) {
  clang::LangOptions options;
  options.CPlusPlus = options.CPlusPlus11 = options.CPlusPlus14 = options.CPlusPlus17 =
      options.CPlusPlus20 = options.CUDA = true;
  const char* begin = source.c_str();
  clang::Lexer lexer(clang::SourceLocation(), options, begin, begin, begin + source.size());
  std::string text;
  clang::Token token;
  bool in_directive = false, after_member_operator = false;
  while (!lexer.LexFromRawLexer(token) || token.isNot(clang::tok::eof)) {
    if (token.is(clang::tok::eof)) break;
    const std::size_t offset = token.getLocation().getRawEncoding();
    std::string spelling = source.substr(offset, token.getLength());
    if (token.isAtStartOfLine()) {
      if (in_directive) text += '\n';
      in_directive = token.is(clang::tok::hash);
    }
    // Space matters in a directive: `#define F (x)` is not `#define F(x)`.
    text += in_directive && !token.hasLeadingSpace() ? '\x01' : ' ';
    const bool renamable = token.is(clang::tok::raw_identifier) && !after_member_operator;
    text += renamable ? rename(spelling) : spelling;
    after_member_operator = token.isOneOf(clang::tok::period, clang::tok::arrow);
  }
  return text;
}

}  // namespace

std::string structural_hash(const Program& program) {
  nlohmann::json json = program;
  if (const auto unit = parse(program)) {
    Renamer rename(declared_names(**unit));
    json["source"] = token_text(program.source, rename);
    for (std::size_t i = 0; i < program.launches.size(); ++i) {
      const std::string& kernel = program.launches[i].kernel;
      const std::size_t angle = std::min(kernel.find('<'), kernel.size());
      json["launches"][i]["kernel"] = rename(kernel.substr(0, angle)) + kernel.substr(angle);
    }
  }
  return content_hash(json.dump());
}

std::string formatted(const std::string& source) {
  clang::format::FormatStyle style =
      clang::format::getGoogleStyle(clang::format::FormatStyle::LK_Cpp);
  style.ColumnLimit = 100;
  style.DerivePointerAlignment = false;
  style.PointerAlignment = clang::format::FormatStyle::PAS_Left;
  style.SortIncludes = clang::format::FormatStyle::SI_Never;
  style.ReflowComments = false;  // the task's JSON lives in a comment
  const clang::tooling::Range whole(0, source.size());
  const auto replacements = clang::format::reformat(style, source, {whole}, "kernel.cu");
  auto result = clang::tooling::applyAllReplacements(source, replacements);
  if (!result) {
    llvm::consumeError(result.takeError());
    return source;
  }
  return *result;
}

}  // namespace hone::syntax
