#include "engine/page/replies.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/page/html.h"
#include "engine/page/pieces.h"
#include "engine/results/replies.h"
#include "rewriters/llm/client/endpoint.h"

namespace hone::page {
namespace {

constexpr std::size_t kMostRows = 200;
constexpr std::size_t kMostCandidates = 8;  // of one reply

std::string sums(const results::ModelUse& use) {
  Facts facts;
  facts.text("Language model", results::model_use_text(use));
  for (const auto& [reason, count] : use.refusals)
    facts.text(fmt::format("Refused {}x", count), reason);
  return facts.take();
}

std::string candidates(const RunReply& reply,
                       const std::function<std::string(const std::string&)>& candidate_html) {
  std::string html;
  for (std::size_t i = 0; i < std::min(kMostCandidates, reply.candidates.size()); ++i)
    html += (i == 0 ? "" : " ") + candidate_html(reply.candidates[i]);
  const std::size_t all = reply.candidates.size();
  return html + (all > kMostCandidates ? fmt::format(" and {} more", all - kMostCandidates) : "");
}

std::vector<Cell> row_of(const RunReply& one, std::size_t number,
                         const std::function<std::string(const std::string&)>& candidate_html) {
  const ReplyRecord& reply = one.reply;
  return {
      number_cell(fmt::format("{}", number), static_cast<double>(number)),
      {escape(reply.mode)},
      {escape(to_string(one.fate))},
      {escape(results::refusal_of(reply))},
      {candidates(one, candidate_html)},
      number_cell(fmt::format("{}", reply.input_tokens), static_cast<double>(reply.input_tokens)),
      number_cell(fmt::format("{}", reply.output_tokens), static_cast<double>(reply.output_tokens)),
      number_cell(llm::format_dollars(reply.nano_dollars), static_cast<double>(reply.nano_dollars)),
      number_cell(fmt::format("{:.1f}", reply.seconds), reply.seconds)};
}

}  // namespace

std::string replies_html(const std::vector<RunReply>& replies,
                         const std::function<std::string(const std::string&)>& candidate_html) {
  if (replies.empty()) return "";
  const Column columns[] = {{"No.", true},
                            {"Asked for"},
                            {"Came to"},
                            {"Why", false, true, true},
                            {"Candidates", false, false, true},
                            {"Tokens in", true},
                            {"Tokens out", true},
                            {"Cost", true},
                            {"Seconds", true}};
  std::vector<std::vector<Cell>> rows;
  const std::size_t left_out = replies.size() - std::min(kMostRows, replies.size());
  for (std::size_t i = left_out; i < replies.size(); ++i)
    rows.push_back(row_of(replies[i], i + 1, candidate_html));
  const std::string caption =
      left_out > 0 ? fmt::format("Its latest {} replies", kMostRows) : "Its replies";
  return sums(results::model_use(replies)) + table(caption, columns, rows, {.cards = true});
}

}  // namespace hone::page
