#include "candidates/pytorch/names.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace hone::pytorch {
namespace {

constexpr std::size_t kLongest = 40;

/// Words of C++ that a tensor or an operation may well be called.
constexpr std::string_view kWords[] = {
    "auto",     "bool",     "break",  "case",      "char",     "class",   "const",
    "continue", "default",  "delete", "do",        "double",   "else",    "enum",
    "float",    "for",      "goto",   "if",        "inline",   "int",     "long",
    "main",     "new",      "or",     "and",       "not",      "private", "public",
    "register", "return",   "short",  "signed",    "sizeof",   "static",  "struct",
    "switch",   "this",     "union",  "unsigned",  "void",     "while",   "xor",
    "template", "typename", "using",  "namespace", "operator", "true",    "false"};
/// Functions that CUDA declares: a kernel of such a name is another overload.
constexpr std::string_view kFunctions[] = {
    "abs",   "acos",     "acosh", "asin",   "asinh",  "atan",      "atan2",   "atanh", "cbrt",
    "ceil",  "copysign", "cos",   "cosh",   "div",    "erf",       "erfc",    "exp",   "exp2",
    "expm1", "fabs",     "floor", "fma",    "fmax",   "fmin",      "fmod",    "free",  "hypot",
    "isinf", "isnan",    "ldexp", "lgamma", "log",    "log10",     "log1p",   "log2",  "malloc",
    "max",   "min",      "modf",  "pow",    "printf", "remainder", "rint",    "round", "sin",
    "sinh",  "sqrt",     "tan",   "tanh",   "tgamma", "trunc",     "signbit", "rsqrt"};

}  // namespace

std::string identifier_of(std::string_view text) {
  std::string name;
  for (const char c : text.substr(0, kLongest)) {
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0) {
    name.insert(0, "t_");
  }
  while (name.find("__") != std::string::npos) name.replace(name.find("__"), 2, "_");
  if (name.front() == '_') name.insert(0, "t");
  const bool taken = std::ranges::find(kWords, name) != std::end(kWords) ||
                     std::ranges::find(kFunctions, name) != std::end(kFunctions);
  if (taken) name += "_";
  return name;
}

}  // namespace hone::pytorch
