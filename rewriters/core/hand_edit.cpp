#include "rewriters/core/hand_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "candidates/export/read_export.h"
#include "candidates/json_cursor.h"
#include "rewriters/syntax/parse.h"

namespace hone {
namespace {

using nlohmann::json;

constexpr std::size_t kMostBytes = 512U << 10;  // of all edits, as JSON

struct EditPlace {
  std::size_t begin = 0, end = 0;
  std::string replace;
};

Result<EditPlace> find_edit(const std::string& base, const json& edit) {
  const bool good =
      edit.is_array() && edit.size() == 2 && edit[0].is_string() && edit[1].is_string();
  if (!good) return refused("an edit is not [search, replace]");
  const std::string search = edit[0];
  if (!search.ends_with('\n')) return refused("an edit's lines have no end");
  const auto find = [&](std::size_t from) {
    std::size_t at = base.find(search, from);
    while (at != base.npos && at > 0 && base[at - 1] != '\n') at = base.find(search, at + 1);
    return at;
  };
  const std::size_t at = find(0);
  const std::string first = printable(search.substr(0, search.find('\n')));
  if (at == base.npos) {
    return refused(fmt::format("the edited lines that begin '{}' are not there", first));
  }
  if (find(at + 1) != base.npos) {
    return refused(fmt::format("the edited lines that begin '{}' are there twice", first));
  }
  return EditPlace{at, at + search.size(), edit[1]};
}

class HandEdit final : public Rewriter {
 public:
  std::string_view name() const override { return kHandEdit; }
  std::string_view summary() const override {
    return "what somebody edited in an exported candidate, legal where each piece is found once; "
           "its answers are checked, nothing is proved";
  }

  std::vector<Proposal> propose(const Program&, const RewriteContext&) const override { return {}; }

  Result<Program> apply(const Program& program, const Step& step,
                        const RewriteContext&) const override {
    const std::string text = step.string_param("edits", "");
    if (step.site != "task") return refused("there is no such site");
    if (text.size() > kMostBytes) return refused("the edits are too large");
    const json edits = json::parse(text, nullptr, false);
    if (!edits.is_array() || edits.empty()) return refused("the edits are no list");
    const std::string base = edited_text_base(syntax::formatted(as_exported(program.source)));
    std::vector<EditPlace> places;
    for (const json& edit : edits) {
      auto place = find_edit(base, edit);
      if (!place) return std::unexpected(place.error());
      places.push_back(std::move(*place));
    }
    std::ranges::sort(places, {}, &EditPlace::begin);
    Program result = program;
    result.source.clear();
    std::size_t done = 0;
    for (const EditPlace& place : places) {
      if (place.begin < done) return refused("two edits change the same lines");
      result.source += base.substr(done, place.begin - done) + place.replace;
      done = place.end;
      if (result.source.size() > kMostBytes) return refused("the edited source is too large");
    }
    result.source += base.substr(done);
    return result;
  }
};

}  // namespace

std::string edited_text_base(const std::string& formatted) {
  if (formatted.find("R\"") != formatted.npos) return formatted;  // may hold an empty line
  std::string result;
  for (std::size_t at = 0; at < formatted.size();) {
    const std::size_t end = std::min(formatted.find('\n', at), formatted.size() - 1) + 1;
    const std::string line = formatted.substr(at, end - at);
    if (line.find_first_not_of(" \t\r\n") != line.npos) result += line;
    at = end;
  }
  if (!result.ends_with('\n')) result += '\n';
  return result;
}

Step hand_edit_step(const std::vector<LineEdit>& edits, MathLevel math) {
  json list = json::array();
  for (const LineEdit& edit : edits) list.push_back({edit.search, edit.replace});
  Step step;
  step.rewriter = kHandEdit;
  step.site = "task";
  step.params["edits"] = list.dump(-1, ' ', true, json::error_handler_t::replace);
  step.math = math;
  return step;
}

std::unique_ptr<Rewriter> make_hand_edit() { return std::make_unique<HandEdit>(); }

}  // namespace hone
