#include "rewriters/llm/prompt/templates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "candidates/hash.h"

namespace hone::llm {
namespace {

// Raised when a prompt's make changes beside its templates: what is shown, and how.
constexpr int kFormat = 1;

}  // namespace

std::string expand(std::string_view name, const Values& values) {
  const auto found = std::ranges::find(templates(), name, &Template::name);
  assert(found != templates().end());
  std::string_view rest = found == templates().end() ? std::string_view() : found->text;
  while (rest.ends_with('\n')) rest.remove_suffix(1);
  std::string out;
  for (;;) {
    const std::size_t open = rest.find("{{");
    const std::size_t close = open == rest.npos ? open : rest.find("}}", open);
    out += rest.substr(0, close == rest.npos ? close : open);
    if (close == rest.npos) return out;
    const auto value = values.find(rest.substr(open + 2, close - open - 2));
    assert(value != values.end());
    if (value != values.end()) out += value->second;
    rest.remove_prefix(close + 2);
  }
}

const std::string& templates_version() {
  static const std::string version = [] {
    std::string all;
    for (const Template& one : templates()) {
      all += fmt::format("{} {}\n{}", one.name, one.text.size(), one.text);
    }
    return fmt::format("{}.{}", kFormat, content_hash(all).substr(0, 8));
  }();
  return version;
}

}  // namespace hone::llm
