#include "engine/search/strategy/space.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "candidates/hash.h"

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

/// Equal for equal programs, and nearly never for others.
std::string text_key(const Program& program) {
  using Json = nlohmann::json;
  return content_hash(Json(program).dump(-1, ' ', false, Json::error_handler_t::replace));
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
  for (const EntryPtr& entry : ages_) options_.memory->bytes -= entry->bytes;
  if (root_) options_.memory->bytes -= root_->bytes;
}

void Space::erase_oldest() {
  const EntryPtr oldest = ages_.back();
  ages_.pop_back();
  options_.memory->bytes -= std::exchange(oldest->bytes, 0);
  const auto known = texts_.find(oldest->text);
  if (known != texts_.end() && known->second.lock() == oldest) texts_.erase(known);
}

void Space::grow(Entry& entry, std::size_t bytes) {
  if (entry.bytes == 0) return;
  entry.bytes += bytes;
  options_.memory->bytes += bytes;
  // The newest stays: it is what the caller asked for.
  while (ages_.size() > 1 &&
         (ages_.size() > kMaxEntries || options_.memory->bytes > SpaceMemory::kLimit)) {
    erase_oldest();
  }
}

Space::EntryPtr Space::known_after(const Entry& entry, const std::string& step) const {
  const auto found = entry.next.find(step);
  auto next = found != entry.next.end() ? found->second.lock() : nullptr;
  return next && next->bytes > 0 ? next : nullptr;
}

/// What comes first in a recipe is younger than what follows: more recipes need it.
void Space::use(const std::vector<EntryPtr>& way) {
  for (auto entry = way.rbegin(); entry != way.rend(); ++entry)
    if (*entry != root_ && (*entry)->bytes > 0) ages_.splice(ages_.begin(), ages_, (*entry)->age);
}

/// The entry of that program: another recipe may have led to it.
Space::EntryPtr Space::kept(Result<Rewritten> rewritten, std::string text) {
  if (const auto same = texts_.find(text); rewritten && same != texts_.end()) {
    auto known = same->second.lock();
    if (known && known->rewritten->program == rewritten->program) return known;
  }
  auto made = std::make_shared<Entry>(Entry{.rewritten = std::move(rewritten), .text = {}});
  if (!root_) {
    root_ = made;  // it stays: whatever is asked begins with it
  } else {
    ages_.push_front(made);
    made->age = ages_.begin();
  }
  made->bytes = sizeof(Entry);
  options_.memory->bytes += made->bytes;
  if (made->rewritten) {
    made->text = text;
    texts_[std::move(text)] = made;
  }
  grow(*made, made->rewritten ? made->text.size() + bytes_of(made->rewritten->program)
                              : made->rewritten.error().message.size());
  return made;
}

Result<Rewritten> Space::applied(const Program& program, const Step& step) {
  auto made = rewriting_.apply(context_, program, step, options_.hashes);
  if (!made) made.error().message = to_string(step) + ": " + made.error().message;
  return made;
}

Result<Rewritten> Space::reference() {
  Rewritten made{context_.task->reference, ""};
  if (options_.hashes) {
    auto hash = rewriting_.hash(made.program, context_.task->source_path);
    if (!hash) return std::unexpected(hash.error());
    made.hash = std::move(*hash);
  }
  return made;
}

Space::EntryPtr Space::entry(const Recipe& recipe) {
  constexpr std::size_t kEdge = 64;  // beside the step's text
  std::vector<std::string> steps;
  for (const Step& step : recipe) steps.push_back(to_string(step));
  std::vector<EntryPtr> way;  // from the reference
  std::unique_lock lock(mutex_);
  if (root_) way.push_back(root_);
  while (true) {
    const std::size_t done = way.size();  // steps, and the reference
    if (done == recipe.size() + 1 || (done > 0 && !way.back()->rewritten)) break;
    auto next = done == 0 ? nullptr : known_after(*way.back(), steps[done - 1]);
    if (!next) {
      lock.unlock();
      auto made =
          done == 0 ? reference() : applied(way.back()->rewritten->program, recipe[done - 1]);
      // An answer that is none, such as "cancelled", is given and not kept.
      if (!made && !is_lasting(made.error()))
        return std::make_shared<Entry>(Entry{.rewritten = std::move(made), .text = {}});
      std::string text = made ? text_key(made->program) : std::string();
      lock.lock();
      // Another thread may have been faster.
      next = done == 0 ? root_ : known_after(*way.back(), steps[done - 1]);
      if (!next) next = kept(std::move(made), std::move(text));
      if (done > 0 && way.back()->next.insert_or_assign(steps[done - 1], next).second)
        grow(*way.back(), kEdge + steps[done - 1].size());
    }
    way.push_back(std::move(next));
  }
  use(way);
  return way.back();
}

void Space::disable(std::string rewriter) {
  options_.disabled.push_back(std::move(rewriter));
  const std::lock_guard lock(mutex_);
  if (root_) root_->proposals.reset();
  for (const EntryPtr& known : ages_) known->proposals.reset();
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
  grow(*found, bytes_of(*made));
  return made;
}

std::optional<Proposal> Space::proposal_of(const Recipe& prefix, const Step& step) {
  const Proposals all = proposals(prefix);
  for (const Proposal& proposal : *all)
    if (proposal.rewriter == step.rewriter && proposal.site == step.site) return proposal;
  return std::nullopt;
}

}  // namespace hone
