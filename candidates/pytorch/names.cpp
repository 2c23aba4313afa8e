#include "candidates/pytorch/names.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace hone::pytorch {
namespace {

constexpr std::size_t kLongest = 40;

/// Words of C++ and of CUDA's headers that a tensor may well be called.
constexpr std::array<std::string_view, 46> kReserved = {
    "auto",     "bool",   "break",    "case",   "char",   "class",  "const",   "continue",
    "default",  "delete", "do",       "double", "else",   "enum",   "exp",     "float",
    "for",      "goto",   "if",       "inline", "int",    "log",    "long",    "main",
    "max",      "min",    "new",      "or",     "and",    "not",    "private", "public",
    "register", "return", "short",    "signed", "sizeof", "static", "struct",  "switch",
    "this",     "union",  "unsigned", "void",   "while",  "xor"};

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
  if (std::ranges::find(kReserved, name) != kReserved.end()) name += "_";
  return name;
}

}  // namespace hone::pytorch
