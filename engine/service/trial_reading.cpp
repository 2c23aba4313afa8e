#include "engine/service/trial_reading.h"

#include <fmt/format.h>
#include <malloc.h>
#include <pthread.h>

#include <thread>

#include "engine/service/init_task.h"
#include "evaluator/pool/runner_pool.h"
#include "evaluator/protocol/channel.h"
#include "evaluator/runner/serve_loop.h"
#include "rewriters/core/registry.h"
#include "rewriters/syntax/parse.h"

namespace hone {
namespace {

using Json = nlohmann::json;
using Status = pool::Outcome::Status;

// A usual kernel takes 0.05 s.
constexpr double kTimeout_s = 10;

Result<Json> read(const Json& message) {
  const Json done = {{"read", true}};
  if (!message.contains("task")) {
    const auto source = protocol::get_string(message, "source", protocol::kMaxFrame);
    if (!source) return std::unexpected(source.error());
    (void)init_task(*source, "trial");
    return done;
  }
  const auto task = task_from_json(message["task"]);
  if (!task) return std::unexpected(task.error());
  const auto program =
      message.contains("program") ? program_from_json(message["program"]) : task->reference;
  if (!program) return std::unexpected(program.error());
  if (!syntax::parse(*program)) return done;  // then no rule looks at it
  (void)propose_all(*program, {&*task, task->sizes, target_limits("sm_90")});
  (void)syntax::structural_hash(*program);
  (void)syntax::formatted(program->source);
  return done;
}

Result<void> ask(const Json& request, const std::string& path, const TrialOptions& options) {
  EvaluatorOptions reader;
  reader.sandbox = options.sandbox;
  reader.warn = options.warn;
  reader.runner_path =
      options.reader.empty() ? sandbox::executable_folder() + "/hone" : options.reader;
  pool::RunnerPool pool("read-source", 1, reader);
  const auto outcome = pool.call(request, kTimeout_s);
  const auto gives_up = [&](const std::string& why) {
    return invalid(
        fmt::format("{}: this source cannot be read: {}; nest and expand it less", path, why));
  };
  switch (outcome.status) {
    case Status::kReply:
      if (const auto error = protocol::error_of(outcome.reply)) return gives_up(*error);
      return {};
    case Status::kTimeout:
      return gives_up(fmt::format("parsing it takes more than {:.0f} s", kTimeout_s));
    case Status::kCannotStart:
    case Status::kCancelled:
      return fail(ErrorCode::kEnvironment, outcome.detail);
    default: {
      // Clang's own report of its end is long.
      const auto how = outcome.detail.substr(0, outcome.detail.find(": "));
      return gives_up(
          fmt::format("the process that parsed it ran out of stack, memory or time ({})", how));
    }
  }
}

}  // namespace

Result<void> trial_reading(const Task& task, const Program& program, const TrialOptions& options) {
  Json request = {{"task", task}};
  if (!(program == task.reference)) request["program"] = program;
  return ask(request, program == task.reference ? task.source_path : "the variant", options);
}

Result<void> trial_reading(const std::string& source, const std::string& path,
                           const TrialOptions& options) {
  return ask({{"source", source}}, path, options);
}

void set_thread_stacks(std::size_t bytes) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstacksize(&attributes, bytes) == 0) pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

int serve_trial_readings() {
  mallopt(M_ARENA_MAX, 2);  // address space is what is limited
  set_thread_stacks(kTrialStack);
  int status = 1;
  std::thread([&] { status = runner::serve("read-source", read); }).join();
  return status;
}

}  // namespace hone
