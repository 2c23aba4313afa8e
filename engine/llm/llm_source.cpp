#include "engine/llm/llm_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "candidates/hash.h"
#include "rewriters/llm/model_steps.h"
#include "rewriters/llm/reply/reply.h"

namespace hone::llm {
namespace {

constexpr std::size_t kMostReady = 8;  ///< that wait to be tried; then nothing more is asked
/// Of the money, what may be spent at once; the rest is spent as the time goes.
constexpr double kAtOnce = 0.1;

constexpr std::int64_t kAroundPrompt = 512;  ///< tokens of chat templates, at most
constexpr std::size_t kMostNotes = 8;        ///< in a search
/// Drawn from another stream than the strategy's.
constexpr std::uint64_t kStream = 0x70D3;

std::string words_of(const Recipe& recipe) {
  std::string words;
  for (const Step& step : recipe) words += (words.empty() ? "" : ", ") + to_string(step);
  return words.empty() ? "reference" : words;
}

}  // namespace

LlmSource::LlmSource(const Task& task, Space& space, llm::Client& client, const llm::Meter& meter,
                     SourceOptions options, std::string arch, std::string device, Tried reference)
    : task_(task),
      space_(space),
      client_(client),
      meter_(meter),
      options_(std::move(options)),
      arch_(std::move(arch)),
      device_(std::move(device)),
      tried_(std::move(reference)),
      random_(options_.seed ^ kStream),
      exchanges_(options_.exchanges_before),
      replied_(options_.exchanges_before > 0) {
  if (options_.in_order) return;
  const int threads = std::max(1, client_.endpoint().settings.concurrency);
  for (int i = 0; i < threads; ++i)
    threads_.emplace_back([this](const std::stop_token& stopping) { run(stopping); });
}

LlmSource::~LlmSource() { stop(); }

void LlmSource::stop() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
  {
    const std::lock_guard lock(mutex_);
    if (failure_warned_ || last_outcome_.empty() || useful_) return;
  }
  warn(fmt::format("the language model: nothing that it said could be used; the last reply was {}",
                   last_outcome_));
}

double LlmSource::spent() const {
  const std::lock_guard lock(mutex_);
  return spent_;
}

void LlmSource::charge(const llm::Charge& charge) {
  const std::lock_guard lock(mutex_);
  spent_ += meter_.share(charge);
}

/// Is it time for another question? The lock is held.
bool LlmSource::due(double share) {
  if (over_ || ready_.size() + static_cast<std::size_t>(wanted_ + in_flight_) >= kMostReady)
    return false;
  if (asks_ - last_question_ < static_cast<std::int64_t>(std::ceil(2 / std::max(share, 0.01))))
    return false;
  if (options_.in_order || !options_.elapsed) return true;
  return meter_.share_spent() <= kAtOnce + options_.elapsed() * (0.5 + share);
}

void LlmSource::go_on(double share) {
  {
    const std::lock_guard lock(mutex_);
    ++asks_;
    if (!due(share)) return;
    last_question_ = asks_;
    if (!options_.in_order) {
      ++wanted_;
      wanted_changed_.notify_one();
      return;
    }
  }
  ask_and_wait();
}

/// On the caller's thread, which the search's end sets free.
void LlmSource::ask_and_wait() {
  std::stop_source stop;
  const std::jthread watch([&](const std::stop_token& done) {
    while (!done.stop_requested() && !(options_.over && options_.over()))
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop.request_stop();
  });
  ask(next_question(), stop.get_token());
}

bool LlmSource::pending() const {
  const std::lock_guard lock(mutex_);
  return !ready_.empty() || (!over_ && wanted_ + in_flight_ > 0);
}

std::optional<Recipe> LlmSource::next() {
  const std::lock_guard lock(mutex_);
  if (ready_.empty()) return std::nullopt;
  Recipe recipe = std::move(ready_.front());
  ready_.pop_front();
  return recipe;
}

void LlmSource::run(const std::stop_token& stopping) {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (!wanted_changed_.wait(lock, stopping, [&] { return wanted_ > 0; })) return;
      --wanted_;
      ++in_flight_;
    }
    try {
      ask(next_question(), stopping);
    } catch (const std::exception& exception) {
      warn(fmt::format("the language model: {}", exception.what()));
    }
    const std::lock_guard lock(mutex_);
    --in_flight_;
  }
}

LlmSource::Question LlmSource::next_question() {
  const std::lock_guard lock(mutex_);
  if (!repairs_.empty()) {
    Question question = std::move(repairs_.front());
    repairs_.pop_front();
    return question;
  }
  Question question;
  question.mode = options_.modes[next_mode_++ % options_.modes.size()];
  return question;
}

Result<llm::Shown> LlmSource::shown(const Tried& tried) {
  auto program = space_.program(tried.recipe);
  if (!program) return std::unexpected(program.error());
  llm::Shown shown;
  shown.program = std::move(*program);
  shown.recipe = words_of(tried.recipe);
  shown.verdict = tried.verdict;
  shown.detail = tried.detail;
  shown.time_us = tried.time_us;
  shown.speedup = tried.speedup;
  shown.modelled = tried.modelled;
  shown.bound = tried.bound;
  return shown;
}

Result<llm::PromptInput> LlmSource::input_for(const Question& question, const Tried& best) {
  std::uint64_t seed = 0;
  {
    const std::lock_guard lock(mutex_);
    seed = random_.bits();
  }
  llm::PromptInput input;
  input.mode = question.mode;
  input.task = &task_;
  input.arch = arch_;
  input.target = space_.context().target;
  input.device = device_;
  auto start = shown(best);
  if (!start) return std::unexpected(start.error());
  input.best = std::move(*start);
  for (const Tried& tried : tried_.examples(options_.examples, seed)) {
    if (auto example = shown(tried)) input.exemplars.push_back(std::move(*example));
  }
  if (question.failed) {
    if (question.reply.empty()) {
      if (auto failed = shown(*question.failed)) input.failed = std::move(*failed);
    } else {
      llm::Shown failed;
      failed.reply = question.reply;
      failed.verdict = question.failed->verdict;
      failed.detail = question.failed->detail;
      input.failed = std::move(failed);
    }
    input.repair_turn = question.turn;
  }
  if (question.mode == llm::Mode::kSteps) input.proposals = *space_.proposals(best.recipe);
  return input;
}

/// In bytes: what the budgets have left beside a reply of half the length, as a token has a byte
/// at least.
std::size_t LlmSource::room_for_prompt() const {
  const llm::Settings& settings = client_.endpoint().settings;
  const auto most = static_cast<std::int64_t>(options_.prompt_bytes);
  const std::int64_t output =
      std::max(settings.least_output_tokens, settings.max_output_tokens / 2);
  const std::int64_t room = meter_.room_for_input(output) - kAroundPrompt;
  return static_cast<std::size_t>(std::clamp<std::int64_t>(room, 0, most));
}

Result<llm::Prompt> LlmSource::prompt(llm::Mode mode) {
  Question question;
  question.mode = mode;
  auto input = input_for(question, tried_.best());
  if (!input) return std::unexpected(input.error());
  return llm::make_prompt(*input, options_.prompt_bytes);
}

Result<LlmSource::Made> LlmSource::read(const llm::Reply& reply, const Question& question,
                                        const Recipe& base, const std::string& id) {
  if (reply.finish_reason == "length")
    return refused("the reply was cut at the token limit: be shorter");
  Made made;
  if (question.mode == llm::Mode::kSteps) {
    const auto proposals = space_.proposals(base);
    auto steps = llm::read_steps(reply.text, *proposals);
    if (!steps) return std::unexpected(steps.error());
    made.recipe = base;
    made.recipe.insert(made.recipe.end(), steps->begin(), steps->end());
    made.what = "steps";
    return made;
  }
  if (question.mode == llm::Mode::kWhole) {
    const auto program = llm::read_program(reply.text, task_);
    if (!program) return std::unexpected(program.error());
    made.recipe = {model_code_step(llm::program_of(*program, task_), id, task_.math)};
    made.what = "program";
    return made;
  }
  const auto from = space_.program(base);
  if (!from) return std::unexpected(from.error());
  const auto diff = llm::read_diff(reply.text, *from, task_);
  if (!diff) return std::unexpected(diff.error());
  if (diff->whole) {
    made.recipe = {model_code_step(llm::program_of(diff->program, task_), id, task_.math)};
    made.what = "program";
    return made;
  }
  made.recipe = base;
  made.recipe.push_back(model_edit_step(*diff, id, task_.math));
  made.what = "edits";
  return made;
}

void LlmSource::ask(const Question& question, const std::stop_token& stopping) {
  const Tried best = tried_.best();
  auto input = input_for(question, best);
  if (!input) return;  // cancelled: the search ends
  Question own = question;
  if (own.mode == llm::Mode::kSteps && input->proposals.empty()) {
    own.mode = input->mode = llm::Mode::kWhole;
  }
  auto prompt = llm::make_prompt(*input, room_for_prompt());
  if (!prompt) prompt = llm::make_prompt(*input, options_.prompt_bytes);  // the meter says no
  if (!prompt) return warn(fmt::format("the language model: {}", prompt.error().message));
  const Request request = request_of(*prompt, own);
  const llm::Exchange exchange = client_.ask(request, stopping);
  charge(exchange.charge);

  ReplyRecord record = record_of(request, exchange);
  record.mode = llm::to_string(own.mode);
  record.prompt_version = prompt->version;
  std::optional<Made> made;
  if (!exchange.reply) {
    record.outcome = std::string("no reply: ") + llm::kind_name(exchange.reply.error().kind);
    failed(exchange.reply.error());
  } else {
    for (const std::string& note : exchange.reply->notes) warn("the language model: " + note);
    auto result = read(*exchange.reply, own, best.recipe, record.id);
    record.outcome = result ? result->what : "refused: " + result.error().message;
    if (result) {
      made = std::move(*result);
    } else {
      repair(own, result.error().message, exchange.reply->text);
    }
  }
  const std::lock_guard lock(mutex_);
  const bool sent = exchange.attempts > 0 || exchange.reply;
  if (sent) replies_.push_back(record);
  if (exchange.reply) {
    replied_ = true;
    last_outcome_ = record.outcome;
  }
  if (!made) return;
  useful_ = true;
  asked_.try_emplace(recipe_key(made->recipe), Asked{own.mode, own.turn, record.id});
  ready_.push_back(std::move(made->recipe));
}

Request LlmSource::request_of(const Prompt& prompt, const Question& question) {
  Request request;
  for (const auto& message : prompt.messages)
    request.messages.push_back({role_from(message.role).value_or(Role::kUser), message.text});
  request.response_format = response_format(prompt);
  request.kind =
      fmt::format("{}{}", llm::to_string(question.mode), question.turn > 0 ? " repair" : "");
  return request;
}

/// Without what became of it.
ReplyRecord LlmSource::record_of(const Request& request, const Exchange& exchange) {
  ReplyRecord record;
  std::string key;
  for (const Message& message : request.messages) key += message.text;
  record.model = exchange.reply ? exchange.reply->model : client_.endpoint().settings.model;
  record.text = exchange.reply ? exchange.reply->text : "";
  {
    const std::lock_guard lock(mutex_);
    record.id = content_hash(fmt::format("{}\n{}\n{}", ++exchanges_, key, record.text));
  }
  record.input_tokens = exchange.charge.input_tokens;
  record.output_tokens = exchange.charge.output_tokens;
  record.nano_dollars = exchange.charge.nano_dollars;
  record.exact = exchange.reply && exchange.reply->usage.exact;
  record.seconds = exchange.seconds;
  return record;
}

/// Shows the model what was wrong with its reply, a bounded number of times.
void LlmSource::repair(const Question& question, std::string why, std::string reply) {
  const std::lock_guard lock(mutex_);
  if (question.turn >= options_.repair_turns) return;
  Question again = question;
  again.turn = question.turn + 1;
  again.failed = Tried{};
  again.failed->verdict = Verdict::kRefused;
  again.failed->detail = std::move(why);
  again.reply = std::move(reply);
  repairs_.push_back(std::move(again));
}

void LlmSource::learn(const Recipe& recipe, const Evaluation& evaluation) {
  Tried tried = tried_of(recipe, evaluation);
  {
    const std::lock_guard lock(mutex_);
    const auto asked = asked_.find(recipe_key(recipe));
    if (asked != asked_.end() && can_be_mended(evaluation.verdict) &&
        asked->second.turn < options_.repair_turns && asked->second.mode != llm::Mode::kSteps) {
      repairs_.push_back(
          {.mode = asked->second.mode, .failed = tried, .turn = asked->second.turn + 1});
    }
  }
  tried_.add(std::move(tried));
}

void LlmSource::failed(const llm::Failure& failure) {
  if (failure.kind == llm::FailureKind::kCancelled) return;
  const bool budget = failure.kind == llm::FailureKind::kBudget;
  const bool ended = budget || failure.kind == llm::FailureKind::kRecordEnd;
  const bool final = ended || failure.kind == llm::FailureKind::kSettings;
  bool never = false;
  if (final) {
    const std::lock_guard lock(mutex_);
    // What others have set aside, of this job's other searches too, may be free again.
    if (budget && (in_flight_ > 1 || meter_.totals().reserved_tokens > 0)) return;
    over_ = true;
    wanted_ = 0;
    never = !replied_;
  }
  // A budget or a record that is spent is no trouble.
  if (ended && !never) return;
  const std::lock_guard lock(mutex_);
  if (std::exchange(failure_warned_, true)) return;
  warnings_.push_back(fmt::format("the language model: {}; the search goes on with rules{}",
                                  failure.message, final ? " alone" : ""));
}

void LlmSource::warn(std::string text) {
  std::string kind = text;
  std::erase_if(kind, [](char c) { return c >= '0' && c <= '9'; });
  const std::lock_guard lock(mutex_);
  if (warned_.size() >= kMostNotes || !warned_.insert(kind).second) return;
  warnings_.push_back(std::move(text));
}

std::vector<std::string> LlmSource::replies_of(const Recipe& recipe) const {
  std::vector<std::string> replies = replies_in(recipe);
  const std::lock_guard lock(mutex_);
  const auto found = asked_.find(recipe_key(recipe));  // a reply of steps stands in none of them
  if (found != asked_.end() && std::ranges::find(replies, found->second.reply) == replies.end())
    replies.push_back(found->second.reply);
  return replies;
}

std::vector<ReplyRecord> LlmSource::take_replies() {
  const std::lock_guard lock(mutex_);
  return std::exchange(replies_, {});
}

std::vector<std::string> LlmSource::take_warnings() {
  const std::lock_guard lock(mutex_);
  return std::exchange(warnings_, {});
}

}  // namespace hone::llm
