#include "engine/search/finals/ends.h"

#include <utility>

#include "engine/search/finals/agreement.h"

namespace hone {
namespace {

/// Of a reason, such as a compiler's message.
constexpr std::size_t kMostOfReason = 300;

std::string one_line(std::string_view text) {
  std::string line(text.substr(0, text.find('\n')));
  if (line.size() < text.size() && !line.empty()) line += " ...";
  if (line.size() <= kMostOfReason) return line;
  std::size_t end = kMostOfReason;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;  // UTF-8
  return line.substr(0, end) + " ...";
}

void keep_first(std::string& kept, std::string_view said) {
  if (kept.empty()) kept = one_line(said);
}

}  // namespace

bool is_unknown(Verdict verdict) {
  return verdict == Verdict::kTimeout || verdict == Verdict::kUnsupported;
}

void FinalEnds::note(const Evaluation& evaluation) {
  const std::string said = what_it_says(evaluation);
  if (is_unknown(evaluation.verdict)) return note_unchecked(said);
  ++failed;
  keep_first(why_failed, said);
}

void FinalEnds::note_unchecked(std::string_view why) {
  ++unchecked;
  keep_first(why_unchecked, why);
}

void FinalEnds::add(const FinalEnds& other) {
  faster += other.faster;
  no_faster += other.no_faster;
  failed += other.failed;
  late += other.late;
  unchecked += other.unchecked;
  keep_first(why_failed, other.why_failed);
  keep_first(why_unchecked, other.why_unchecked);
}

}  // namespace hone
