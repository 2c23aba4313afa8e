#include "engine/search/strategy/space.h"

#include <algorithm>

namespace hone {
namespace {

std::size_t bytes_of(const Program& program) {
  constexpr std::size_t kBuffer = 512, kLaunch = 2048;  // with their expressions
  return sizeof(Program) + program.source.size() + 128 * program.defines.size() +
         kBuffer * program.buffers.size() + kLaunch * program.launches.size();
}

std::size_t bytes_of(const std::vector<Proposal>& proposals) {
  std::size_t bytes = 0;
  for (const Proposal& proposal : proposals) {
    bytes += sizeof(Proposal) + proposal.site.size() + proposal.description.size();
    for (const Parameter& parameter : proposal.parameters) {
      bytes += sizeof(Parameter) + parameter.domain.size() * sizeof(ParameterValue);
    }
  }
  return bytes;
}

}  // namespace

std::string recipe_key(const Recipe& recipe) {
  std::string key;
  for (const Step& step : recipe) key += to_string(step) + ";";
  return key;
}

Space::Space(Rewriting& rewriting, RewriteContext context, SpaceOptions options)
    : rewriting_(rewriting), context_(std::move(context)), options_(std::move(options)) {
  if (!options_.memory) options_.memory = std::make_shared<SpaceMemory>();
}

Space::~Space() {
  for (const auto& [key, entry] : entries_) options_.memory->bytes -= entry->bytes;
}

void Space::erase_oldest() {
  const auto oldest = entries_.find(ages_.back());
  options_.memory->bytes -= oldest->second->bytes;
  entries_.erase(oldest);
  ages_.pop_back();
}

void Space::grow(Entry& entry, std::size_t bytes) {
  entry.bytes += bytes;
  options_.memory->bytes += bytes;
  // The newest stays: it is what the caller asked for.
  while (entries_.size() > 1 &&
         (entries_.size() > kMaxEntries || options_.memory->bytes > SpaceMemory::kLimit)) {
    erase_oldest();
  }
}

std::shared_ptr<Space::Entry> Space::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  ages_.splice(ages_.begin(), ages_, found->second->age);
  return found->second;
}

Result<Rewritten> Space::rewrite(const Recipe& recipe) {
  if (!recipe.empty()) {
    // The prefix is nearly always cached: one step is applied, not all of them.
    const Step& step = recipe.back();
    const auto prefix = entry(Recipe(recipe.begin(), recipe.end() - 1));
    if (!prefix->rewritten) return std::unexpected(prefix->rewritten.error());
    auto made = rewriting_.apply(context_, prefix->rewritten->program, step, options_.hashes);
    if (!made) made.error().message = to_string(step) + ": " + made.error().message;
    return made;
  }
  Rewritten made{context_.task->reference, ""};
  if (options_.hashes) {
    auto hash = rewriting_.hash(made.program, context_.task->source_path);
    if (!hash) return std::unexpected(hash.error());
    made.hash = std::move(*hash);
  }
  return made;
}

std::shared_ptr<Space::Entry> Space::entry(const Recipe& recipe) {
  const std::string key = recipe_key(recipe);
  if (auto found = find(key)) return found;
  auto made = std::make_shared<Entry>(Entry{rewrite(recipe), nullptr, 0, {}});
  const Result<Rewritten>& rewritten = made->rewritten;
  // An answer that is none, such as "cancelled", is given and not kept.
  if (!rewritten && !is_lasting(rewritten.error())) return made;
  const std::size_t bytes = 2 * key.size() + (rewritten ? bytes_of(rewritten->program)
                                                        : rewritten.error().message.size());
  const std::lock_guard lock(mutex_);
  const auto [place, added] = entries_.emplace(key, made);
  if (!added) return place->second;  // another thread was faster
  ages_.push_front(key);
  made->age = ages_.begin();
  grow(*made, bytes);
  return made;
}

Result<Rewritten> Space::rewritten(const Recipe& recipe) { return entry(recipe)->rewritten; }

Result<Program> Space::program(const Recipe& recipe) {
  const auto found = entry(recipe);
  if (!found->rewritten) return std::unexpected(found->rewritten.error());
  return found->rewritten->program;
}

Space::Proposals Space::proposals(const Recipe& recipe) {
  static const auto none = std::make_shared<const std::vector<Proposal>>();
  const auto found = entry(recipe);
  if (!found->rewritten) return none;
  {
    const std::lock_guard lock(mutex_);
    if (found->proposals) return found->proposals;
  }
  auto all = rewriting_.proposals(context_, found->rewritten->program);
  if (!all && !is_lasting(all.error())) return none;
  std::vector<Proposal> usable;
  if (all) {
    for (Proposal& proposal : *all) {
      if (std::ranges::find(options_.disabled, proposal.rewriter) != options_.disabled.end())
        continue;
      if (proposal.math > context_.task->math) continue;
      const bool has_choice = std::ranges::none_of(
          proposal.parameters, [](const Parameter& p) { return p.domain.empty(); });
      if (has_choice) usable.push_back(std::move(proposal));
    }
  }
  const auto made = std::make_shared<const std::vector<Proposal>>(std::move(usable));
  const std::lock_guard lock(mutex_);
  if (found->proposals) return found->proposals;
  found->proposals = made;
  const auto kept = entries_.find(recipe_key(recipe));
  if (kept != entries_.end() && kept->second == found) grow(*found, bytes_of(*made));
  return made;
}

std::optional<Proposal> Space::proposal_of(const Recipe& prefix, const Step& step) {
  const Proposals all = proposals(prefix);
  for (const Proposal& proposal : *all)
    if (proposal.rewriter == step.rewriter && proposal.site == step.site) return proposal;
  return std::nullopt;
}

}  // namespace hone
