// Asks a language model for programs and steps, as long as its budgets last. Its failures never
// stop a search: it says so once, and gives nothing more (or for a while nothing).
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "candidates/store/store.h"
#include "engine/llm/tried.h"
#include "engine/search/random.h"
#include "engine/search/strategy/mixed_strategy.h"
#include "rewriters/llm/client/client.h"
#include "rewriters/llm/prompt/prompt.h"

namespace hone::llm {

struct SourceOptions {
  std::vector<llm::Mode> modes = {llm::Mode::kWhole, llm::Mode::kDiff, llm::Mode::kSteps};
  std::uint64_t seed = 1;  ///< the search's
  /// Asks inside of go_on(), on its caller's thread: what asks in one thread repeats exactly.
  bool in_order = false;
  int repair_turns = 2;  ///< after a first try that failed
  std::size_t prompt_bytes = 96U << 10;
  std::size_t examples = 4;
  std::int64_t exchanges_before = 0;  ///< of the same run, by earlier processes
  std::function<double()> elapsed;    ///< of the search, 0 to 1; empty: money is not paced by it
  std::function<bool()> over;         ///< the search ends: nobody waits for a reply; may be empty
};

class LlmSource final : public RecipeSource {
 public:
  /// All but the copies must outlive it. `reference` as it was admitted.
  LlmSource(const Task& task, Space& space, llm::Client& client, const llm::Meter& meter,
            SourceOptions options, std::string arch, std::string device, Tried reference);
  ~LlmSource() override;
  LlmSource(const LlmSource&) = delete;
  LlmSource& operator=(const LlmSource&) = delete;

  void go_on(double share) override;
  [[nodiscard]] std::optional<Recipe> next() override;
  /// By itself: what the job's other searches or earlier processes spent is not in it.
  [[nodiscard]] double spent() const override;
  /// A reply may come, or waits to be tried.
  [[nodiscard]] bool pending() const;

  /// Ends the threads; what is in flight is cancelled. Warns if replies came and none was of use.
  void stop();
  /// What became of any recipe of the search, the model's or not.
  void learn(const Recipe& recipe, const Evaluation& evaluation);
  /// The ids of the replies that a recipe came of.
  [[nodiscard]] std::vector<std::string> replies_of(const Recipe& recipe) const;
  /// Replies that came since the last call, to be stored.
  [[nodiscard]] std::vector<ReplyRecord> take_replies();
  /// Warnings since the last call: of failures one in a search, of notes each once.
  [[nodiscard]] std::vector<std::string> take_warnings();

  /// What would be sent first: for `hone prompt`.
  [[nodiscard]] Result<llm::Prompt> prompt(llm::Mode mode);

 private:
  /// One question: a new one, or a repair of what failed.
  struct Question {
    llm::Mode mode = llm::Mode::kWhole;
    std::optional<Tried> failed;
    std::string reply;  ///< that no recipe came of
    int turn = 0;
  };
  struct Asked {
    llm::Mode mode;
    int turn;
    std::string reply;
  };
  struct Made {
    Recipe recipe;
    std::string what;  ///< "program" or "steps"
  };

  void run(const std::stop_token& stopping);
  void ask_and_wait();
  [[nodiscard]] bool due(double share);
  [[nodiscard]] Question next_question();
  void ask(const Question& question, const std::stop_token& stopping);
  [[nodiscard]] static Request request_of(const Prompt& prompt, const Question& question);
  [[nodiscard]] ReplyRecord record_of(const Request& request, const Exchange& exchange);
  [[nodiscard]] Result<llm::PromptInput> input_for(const Question& question, const Tried& best);
  [[nodiscard]] std::size_t room_for_prompt() const;
  [[nodiscard]] Result<llm::Shown> shown(const Tried& tried);
  [[nodiscard]] Result<Made> read(const llm::Reply& reply, const Question& question,
                                  const Recipe& base, const std::string& id);
  void charge(const llm::Charge& charge);
  void failed(const llm::Failure& failure);
  void warn(std::string text);
  void repair(const Question& question, std::string why, std::string reply);

  const Task& task_;
  Space& space_;
  llm::Client& client_;
  const llm::Meter& meter_;
  const SourceOptions options_;
  const std::string arch_, device_;
  TriedSet tried_;

  mutable std::mutex mutex_;  ///< of what follows
  std::condition_variable_any wanted_changed_;
  Random random_;
  int wanted_ = 0, in_flight_ = 0;
  double spent_ = 0;  ///< by this one, of the budgets
  std::int64_t asks_ = 0, last_question_ = 0, exchanges_;
  std::size_t next_mode_ = 0;
  bool over_ = false;  ///< nothing more will come
  std::deque<Question> repairs_;
  std::deque<Recipe> ready_;
  std::unordered_map<std::string, Asked> asked_;  ///< by recipe key
  std::vector<ReplyRecord> replies_;
  std::vector<std::string> warnings_;
  std::set<std::string> warned_;  ///< without their numbers
  bool failure_warned_ = false;
  bool replied_;                       ///< at least once
  bool useful_ = false;                ///< a recipe came of a reply
  std::string last_outcome_;           ///< of a reply
  std::vector<std::jthread> threads_;  ///< last: they use all of the above
};

}  // namespace hone::llm
