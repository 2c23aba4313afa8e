// kDiff: blocks of
//   <<<<<<< SEARCH
//   old lines
//   =======
//   new lines
//   >>>>>>> REPLACE
// matched against the source as the prompt showed it, all against that one text.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "candidates/json_cursor.h"
#include "rewriters/llm/reply/blocks.h"
#include "rewriters/llm/reply/json_text.h"
#include "rewriters/llm/reply/program_check.h"
#include "rewriters/llm/text/shown_text.h"

namespace hone::llm {
namespace {

constexpr std::size_t kMaxEdits = 200;
constexpr std::size_t kLeastMarks = 5;

struct Edits {
  std::vector<Edit> edits;
  std::string rest;  // of the reply
};

std::string_view without_trailing_blanks(std::string_view line) {
  return line.substr(0, line.find_last_not_of(" \t") + 1);
}

// "<<<<<<< SEARCH": marks, then nothing or the word.
bool is_mark(std::string_view line, char mark, std::string_view word) {
  line = without_trailing_blanks(line);
  const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  line.remove_prefix(begin);
  const std::size_t marks = std::min(line.find_first_not_of(mark), line.size());
  if (marks < kLeastMarks) return false;
  line.remove_prefix(marks);
  while (line.starts_with(' ')) line.remove_prefix(1);
  return line.empty() || line == word;
}

void append_line(std::string& text, std::string_view line) {
  text += without_trailing_blanks(line);
  text += '\n';
}

Result<Edits> edits_of(std::string_view text) {
  Edits found;
  enum class In { kProse, kSearch, kReplace } in = In::kProse;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (in == In::kProse) {
      if (is_mark(line, '<', "SEARCH")) {
        in = In::kSearch;
        found.edits.emplace_back();
      } else {
        append_line(found.rest, line);
      }
    } else if (in == In::kSearch) {
      if (is_mark(line, '=', "")) {
        in = In::kReplace;
      } else if (is_mark(line, '<', "SEARCH") || is_mark(line, '>', "REPLACE")) {
        return refused(fmt::format("edit {}: a line of ======= is missing", found.edits.size()));
      } else {
        append_line(found.edits.back().search, line);
      }
    } else if (is_mark(line, '>', "REPLACE")) {
      in = In::kProse;
    } else if (is_mark(line, '<', "SEARCH") || is_mark(line, '=', "")) {
      return refused(
          fmt::format("edit {}: a line of >>>>>>> REPLACE is missing", found.edits.size()));
    } else {
      append_line(found.edits.back().replace, line);
    }
  }
  if (in != In::kProse) {
    return refused(fmt::format("half a reply: edit {} has no end (a line of >>>>>>> REPLACE)",
                               found.edits.size()));
  }
  if (found.edits.size() > kMaxEdits) {
    return refused(fmt::format("{} edits; at most {} are accepted", found.edits.size(), kMaxEdits));
  }
  return found;
}

struct Place {
  std::size_t begin = 0, end = 0;
  std::size_t edit = 0;
};

// Whole lines, and the edit's lines as they stand.
Result<Place> place_of(const std::string& base, const std::string& search, std::size_t edit) {
  if (search.find_first_not_of(" \t\n") == std::string::npos) {
    return refused(fmt::format("edit {}: its SEARCH part is empty", edit + 1));
  }
  std::size_t found = std::string::npos;
  for (std::size_t at = base.find(search); at != std::string::npos;
       at = base.find(search, at + 1)) {
    if (at > 0 && base[at - 1] != '\n') continue;
    if (found != std::string::npos) {
      return refused(fmt::format(
          "edit {}: its SEARCH part, which begins '{}', is there more than once; add lines",
          edit + 1, printable(search.substr(0, search.find('\n')))));
    }
    found = at;
  }
  if (found == std::string::npos) {
    return refused(fmt::format(
        "edit {}: its SEARCH part, which begins '{}', is not in the program, line for line",
        edit + 1, printable(search.substr(0, search.find('\n')))));
  }
  return Place{found, found + search.size(), edit};
}

Result<std::string> edited(const std::string& base, const std::vector<Edit>& edits) {
  std::vector<Place> places;
  std::size_t searched = 0;
  for (std::size_t i = 0; i < edits.size(); ++i) {
    searched += edits[i].search.size();
    if (searched > base.size()) return refused("the SEARCH parts are longer than the program");
    auto place = place_of(base, edits[i].search, i);
    if (!place) return std::unexpected(place.error());
    places.push_back(*place);
  }
  std::ranges::sort(places, {}, &Place::begin);
  std::string out;
  std::size_t done = 0;
  for (const Place& place : places) {
    if (place.begin < done) {
      return refused(fmt::format("edit {} changes lines that another one changes", place.edit + 1));
    }
    out += base.substr(done, place.begin - done);
    out += edits[place.edit].replace;
    done = place.end;
    if (out.size() > kMaxSourceBytes) break;  // refused by its size
  }
  return out + base.substr(done);
}

// The last JSON block, or bare object, with launches or scratch buffers.
Result<nlohmann::json> plan_of(const ReplyParts& parts) {
  for (std::size_t i = parts.blocks.size(); i-- > 0;) {
    const Block& block = parts.blocks[i];
    if (!is_json(block) || block.text.find_first_not_of(" \n") == std::string::npos) continue;
    if (!block.closed) return refused("half a reply: its JSON block has no end");
    return parse_json_text(block.text);
  }
  const std::string_view bare = last_object(parts.prose, "\"launches\"");
  if (bare.empty()) return nlohmann::json::object();
  return parse_json_text(bare);
}

// What `base` has beyond the task.
std::vector<Buffer> added_buffers(const Program& base, const Task& task) {
  std::vector<Buffer> added;
  for (const Buffer& buffer : base.buffers) {
    if (task.reference.find_buffer(buffer.name) == nullptr) added.push_back(buffer);
  }
  return added;
}

Result<ModelProgram> edited_with(const Program& base, const std::vector<Edit>& edits,
                                 nlohmann::json plan, const Task& task) {
  const std::string shown = shown_source(base.source);
  auto source = edited(shown, edits);
  if (!source) return std::unexpected(source.error());
  ModelProgram model{std::move(*source), base.defines, base.launches, added_buffers(base, task),
                     ""};
  if (auto good = read_plan(std::move(plan), task, model); !good) {
    return std::unexpected(good.error());
  }
  if (model.source == shown && model.launches == base.launches &&
      model.scratch == added_buffers(base, task)) {
    return refused("the edits change nothing");
  }
  const std::string known = base.source + "\n" + task.reference.source;
  if (auto good = check_program(model, task, known); !good) return std::unexpected(good.error());
  return model;
}

Result<ModelDiff> diff_in(std::string_view reply, const Program& base, const Task& task) {
  auto parts = readable_parts(reply);
  if (!parts) return std::unexpected(parts.error());
  auto found = edits_of(parts->text);
  if (!found) return std::unexpected(found.error());
  if (found->edits.empty()) {  // not what was asked for, and as good
    if (auto whole = read_program(reply, task)) {
      return ModelDiff{.program = std::move(*whole), .whole = true};
    }
  }
  const ReplyParts rest = parts_of(found->rest);
  auto plan = plan_of(rest);
  if (!plan) return std::unexpected(plan.error());
  if (found->edits.empty() && plan->empty()) {
    return refused("the reply has no edit (<<<<<<< SEARCH … ======= … >>>>>>> REPLACE)");
  }
  ModelDiff diff;
  // What a model says beside them is no part of a step.
  nlohmann::json kept = nlohmann::json::object();
  for (const char* key : {"launches", "scratch"}) {
    if (plan->is_object() && plan->contains(key)) kept[key] = (*plan)[key];
  }
  if (!kept.empty()) {
    diff.plan = kept.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  }
  auto program = edited_with(base, found->edits, std::move(*plan), task);
  if (!program) return std::unexpected(program.error());
  diff.program = std::move(*program);
  diff.program.why = printable_why(rest.prose);
  diff.edits = std::move(found->edits);
  return diff;
}

}  // namespace

Result<ModelDiff> read_diff(std::string_view reply, const Program& base, const Task& task) {
  return in_one_line(diff_in(reply, base, task));
}

Result<ModelProgram> edited_program(const Program& base, const std::vector<Edit>& edits,
                                    std::string_view plan, const Task& task) {
  auto json = plan.empty() ? nlohmann::json::object() : parse_json_text(plan);
  if (!json) return std::unexpected(json.error());
  return in_one_line(edited_with(base, edits, std::move(*json), task));
}

}  // namespace hone::llm
