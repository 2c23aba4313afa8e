#include "engine/rewriting/init/choose.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::init {
namespace {

std::string task_text(const InitResult::Attempt& attempt, const std::string& source) {
  std::string text = "/* hone " + attempt.task.dump(2) + " */\n";
  for (const std::string& note : attempt.notes) text += "// look at: " + note + "\n";
  return text + "\n" + source;
}

/// One line each: a note is a comment to the end of its line.
std::string on_one_line(std::string note) {
  std::ranges::replace(note, '\n', ' ');
  if (note.ends_with('\\')) note += ' ';
  return note;
}

}  // namespace

Chosen choose_attempt(const InitResult& made, const std::vector<std::string>& notes,
                      const FirstFinding& check, std::chrono::seconds most) {
  const auto with_notes = [&](const InitResult::Attempt& attempt) {
    InitResult::Attempt all = attempt;
    all.notes.insert(all.notes.begin(), notes.begin(), notes.end());
    for (std::string& note : all.notes) note = on_one_line(std::move(note));
    return all;
  };
  Chosen chosen;
  chosen.attempt = with_notes(made.attempts.front());
  const auto begin = std::chrono::steady_clock::now();
  std::string finding;
  for (const InitResult::Attempt& one : made.attempts) {
    if (!check) break;
    const InitResult::Attempt attempt = with_notes(one);
    // With a line for the note of a finding: it moves the source, of which a finding tells lines.
    InitResult::Attempt checked = attempt;
    checked.notes.emplace_back();
    const auto found = check(task_text(checked, made.source));
    if (!found) {
      chosen.attempt.notes.push_back(
          on_one_line(fmt::format("not tried on the emulator: {}", found.error().message)));
      break;
    }
    if (found->empty()) {
      finding.clear();
      chosen.attempt = attempt;
      break;
    }
    if (finding.empty()) finding = *found;
    if (std::chrono::steady_clock::now() - begin > most) break;
  }
  if (!finding.empty()) {
    chosen.clean = false;
    chosen.attempt.notes.push_back(
        on_one_line(fmt::format("`hone check` finds something: {}", finding)));
  }
  chosen.text = task_text(chosen.attempt, made.source);
  return chosen;
}

}  // namespace hone::init
