#include "engine/results/replies.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "candidates/saturated.h"
#include "rewriters/llm/client/endpoint.h"
#include "rewriters/llm/text/shown_text.h"

namespace hone::results {
namespace {

constexpr std::size_t kMostReasons = 3;
constexpr std::size_t kReasonBytes = 200;

std::int64_t& count_of(ModelUse& use, ReplyFate fate) {
  switch (fate) {
    case ReplyFate::kNone:
      return use.no_reply;
    case ReplyFate::kRefused:
      return use.refused;
    case ReplyFate::kUntried:
      return use.untried;
    case ReplyFate::kFailed:
      return use.failed;
    case ReplyFate::kPassed:
      return use.passed;
    case ReplyFate::kBest:
      break;
  }
  return use.best;
}

using Reasons = std::vector<std::pair<std::string, std::int64_t>>;

Reasons most_frequent(const std::map<std::string, std::int64_t>& counts) {
  Reasons reasons(counts.begin(), counts.end());
  std::ranges::stable_sort(reasons, std::greater<>(), &Reasons::value_type::second);
  if (reasons.size() > kMostReasons) reasons.resize(kMostReasons);
  return reasons;
}

std::string headline(const RunReply& one) {
  const ReplyRecord& reply = one.reply;
  const std::string why = refusal_of(reply);
  std::string line =
      fmt::format("{}: {}{}{}", reply.mode, to_string(one.fate), why.empty() ? "" : ": ", why);
  for (const std::string& candidate : one.candidates) line += " " + candidate;
  return line + fmt::format("; {} tokens in, {} out, {}{}, {:.1f} s", reply.input_tokens,
                            reply.output_tokens, llm::format_dollars(reply.nano_dollars),
                            reply.exact ? "" : " at most", reply.seconds);
}

}  // namespace

std::string replies_text(const std::vector<RunReply>& replies) {
  std::string out;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    out += fmt::format("{}. {}\n", i + 1, headline(replies[i]));
    std::istringstream text(llm::visible_text(replies[i].reply.text));
    for (std::string line; std::getline(text, line);) out += "   | " + line + "\n";
  }
  return out;
}

std::string refusal_of(const ReplyRecord& reply) {
  const std::string line = llm::visible_line(reply.outcome, kReasonBytes);
  for (const char* begin : {"refused: ", "no reply: "}) {
    if (line.starts_with(begin)) return line.substr(std::string(begin).size());
  }
  return "";
}

void ModelUse::add_counts(const ModelUse& other) {
  used |= other.used;
  for (const auto count :
       {&ModelUse::asked, &ModelUse::no_reply, &ModelUse::refused, &ModelUse::untried,
        &ModelUse::failed, &ModelUse::passed, &ModelUse::best, &ModelUse::input_tokens,
        &ModelUse::output_tokens, &ModelUse::nano_dollars})
    this->*count = saturated_sum(this->*count, other.*count);
}

ModelUse model_use(const std::vector<RunReply>& replies) {
  ModelUse use;
  use.used = !replies.empty();
  std::map<std::string, std::int64_t> reasons;
  for (const RunReply& one : replies) {
    ++use.asked;
    ++count_of(use, one.fate);
    if (one.fate == ReplyFate::kRefused) ++reasons[refusal_of(one.reply)];
    use.input_tokens = saturated_sum(use.input_tokens, one.reply.input_tokens);
    use.output_tokens = saturated_sum(use.output_tokens, one.reply.output_tokens);
    use.nano_dollars = saturated_sum(use.nano_dollars, one.reply.nano_dollars);
  }
  use.refusals = most_frequent(reasons);
  return use;
}

std::string model_use_text(const ModelUse& use) {
  std::string text = fmt::format("{} questions, {} replies", use.asked, use.replies());
  std::string fates;
  const auto add = [&](std::int64_t count, const char* what) {
    if (count > 0) fates += fmt::format("{}{} {}", fates.empty() ? ": " : ", ", count, what);
  };
  add(use.refused, "refused");
  add(use.untried, "known already or not tried");
  add(use.failed, "failed a gate");
  add(use.passed + use.best, "passed");
  if (use.best > 0) fates += fmt::format(" ({} as the best so far)", use.best);
  return fmt::format("{}{}; {} tokens in, {} out, {}", text, fates, use.input_tokens,
                     use.output_tokens, llm::format_dollars(use.nano_dollars));
}

}  // namespace hone::results
