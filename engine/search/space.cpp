#include "engine/search/space.h"

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
  for (const auto& [key, entry] : entries_) options_.memory->bytes -= entry.bytes;
}

void Space::erase_oldest() {
  const auto oldest = entries_.find(ages_.back());
  options_.memory->bytes -= oldest->second.bytes;
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

Space::Entry& Space::entry(const Recipe& recipe) {
  const std::string key = recipe_key(recipe);
  if (auto found = entries_.find(key); found != entries_.end()) {
    ages_.splice(ages_.begin(), ages_, found->second.age);
    return found->second;
  }
  Result<Rewritten> rewritten;
  if (recipe.empty()) {
    rewritten->program = context_.task->reference;
    if (options_.hashes) {
      auto hash = rewriting_.hash(rewritten->program, context_.task->source_path);
      if (hash) {
        rewritten->hash = std::move(*hash);
      } else {
        rewritten = std::unexpected(hash.error());
      }
    }
  } else {
    // The prefix is nearly always cached: one step is applied, not all of them.
    const Step& step = recipe.back();
    Entry& prefix = entry(Recipe(recipe.begin(), recipe.end() - 1));
    if (prefix.rewritten) {
      rewritten = rewriting_.apply(context_, prefix.rewritten->program, step, options_.hashes);
      if (!rewritten) {
        rewritten.error().message = to_string(step) + ": " + rewritten.error().message;
      }
    } else {
      rewritten = std::unexpected(prefix.rewritten.error());
    }
  }
  if (!rewritten && !is_lasting(rewritten.error())) {
    return passing_.emplace(Entry{std::move(rewritten), std::nullopt, 0, ages_.end()});
  }
  ages_.push_front(key);
  const std::size_t bytes = 2 * key.size() + (rewritten ? bytes_of(rewritten->program)
                                                        : rewritten.error().message.size());
  Entry& made = entries_.emplace(key, Entry{std::move(rewritten), std::nullopt, 0, ages_.begin()})
                    .first->second;
  grow(made, bytes);
  return made;
}

Result<Program> Space::program(const Recipe& recipe) {
  const Entry& found = entry(recipe);
  if (!found.rewritten) return std::unexpected(found.rewritten.error());
  return found.rewritten->program;
}

Result<std::string> Space::hash(const Recipe& recipe) {
  const Entry& found = entry(recipe);
  if (!found.rewritten) return std::unexpected(found.rewritten.error());
  return found.rewritten->hash;
}

const std::vector<Proposal>& Space::proposals(const Recipe& recipe) {
  Entry& found = entry(recipe);
  if (!found.rewritten) return none_;
  if (!found.proposals) {
    auto proposals = rewriting_.proposals(context_, found.rewritten->program);
    if (!proposals && !is_lasting(proposals.error())) return none_;
    found.proposals.emplace();
    if (proposals) {
      for (Proposal& proposal : *proposals) {
        if (std::ranges::find(options_.disabled, proposal.rewriter) != options_.disabled.end())
          continue;
        if (proposal.math > context_.task->math) continue;
        const bool has_choice = std::ranges::none_of(
            proposal.parameters, [](const Parameter& p) { return p.domain.empty(); });
        if (has_choice) found.proposals->push_back(std::move(proposal));
      }
    }
    grow(found, bytes_of(*found.proposals));
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
