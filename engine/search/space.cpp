#include "engine/search/space.h"

#include <algorithm>

#include "rewriters/core/registry.h"

namespace hone {

std::string recipe_key(const Recipe& recipe) {
  std::string key;
  for (const Step& step : recipe) key += to_string(step) + ";";
  return key;
}

Space::Space(RewriteContext context, std::vector<std::string> disabled)
    : context_(std::move(context)), disabled_(std::move(disabled)) {}

Space::Entry& Space::entry(const Recipe& recipe) {
  const std::string key = recipe_key(recipe);
  if (auto found = entries_.find(key); found != entries_.end()) {
    ages_.splice(ages_.begin(), ages_, found->second.age);
    return found->second;
  }
  Result<Program> program = context_.task->reference;
  if (!recipe.empty()) {
    // The prefix is nearly always cached: one step is applied, not all of them.
    const Recipe prefix(recipe.begin(), recipe.end() - 1);
    program = entry(prefix).program;
    if (program) {
      const Step& step = recipe.back();
      const Rewriter* rewriter = find_rewriter(step.rewriter);
      if (rewriter == nullptr) {
        program = refused("no rewriter is called '" + step.rewriter + "'");
      } else {
        program = rewriter->apply(*program, step, context_);
        if (!program) program.error().message = to_string(step) + ": " + program.error().message;
      }
    }
  }
  if (entries_.size() >= kMaxEntries) {
    entries_.erase(ages_.back());
    ages_.pop_back();
  }
  ages_.push_front(key);
  return entries_.emplace(key, Entry{std::move(program), nullptr, ages_.begin()}).first->second;
}

Result<Program> Space::program(const Recipe& recipe) { return entry(recipe).program; }

const std::vector<Proposal>& Space::proposals(const Recipe& recipe) {
  Entry& found = entry(recipe);
  if (found.proposals == nullptr) {
    found.proposals = std::make_unique<std::vector<Proposal>>();
    if (found.program) {
      for (Proposal& proposal : propose_all(*found.program, context_)) {
        if (std::ranges::find(disabled_, proposal.rewriter) != disabled_.end()) continue;
        const bool has_choice = std::ranges::none_of(
            proposal.parameters, [](const Parameter& p) { return p.domain.empty(); });
        if (has_choice) found.proposals->push_back(std::move(proposal));
      }
    }
  }
  return *found.proposals;
}

const Proposal* Space::proposal_of(const Recipe& prefix, const Step& step) {
  for (const Proposal& proposal : proposals(prefix)) {
    if (proposal.rewriter == step.rewriter && proposal.site == step.site) return &proposal;
  }
  return nullptr;
}

}  // namespace hone
