#include "engine/rewriting/serve_rewriting.h"

#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "engine/rewriting/local_rewriting.h"
#include "engine/rewriting/messages.h"
#include "evaluator/protocol/channel.h"
#include "evaluator/protocol/take.h"
#include "evaluator/runner/serve_loop.h"
#include "evaluator/trace.h"
#include "rewriters/syntax/parse.h"

namespace hone {
namespace {

using Json = nlohmann::json;

// Each rule proposes in a thread of its own: address space for twenty of them.
constexpr std::size_t kStack = 16U << 20;
constexpr std::size_t kLargeProcess = 1U << 30;  // resident [B]
constexpr int kArenas = 4;

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

class Server {
 public:
  Result<Json> handle(const Json& message) {
    auto reply = answer(message);
    trace("rewriting: " + protocol::get_string(message, "op").value_or("?"));
    if (resident_bytes() > kLargeProcess) {
      syntax::forget_parsed();
      malloc_trim(0);
    }
    if (!reply && (reply.error().code == ErrorCode::kRefused ||
                   reply.error().code == ErrorCode::kInvalidInput)) {
      return rewriting::to_message(reply.error());
    }
    return reply;
  }

 private:
  Result<Json> answer(const Json& message);
  Result<const Task*> task_from(const Json& message);

  struct KnownTask {
    Json message;
    Task task;
  };
  std::optional<KnownTask> known_;  ///< a search sends the same one each time
  LocalRewriting local_;
};

Result<const Task*> Server::task_from(const Json& message) {
  if (!known_ || known_->message != message) {
    auto task = task_from_json(message);
    if (!task) return fail(ErrorCode::kInternal, task.error().message);
    known_ = KnownTask{message, std::move(*task)};
  }
  return &known_->task;
}

Result<Json> Server::answer(const Json& message) {
  std::string op;
  HONE_TAKE(op, protocol::get_string(message, "op"));
  if (op == "format") {
    std::string source;
    HONE_TAKE(source, protocol::get_string(message, "source", protocol::kMaxFrame));
    return Json{{"source", local_.formatted(source)}};
  }
  if (op == "init") {
    const auto request = rewriting::init_request_from(message);
    if (!request) return std::unexpected(request.error());
    const auto made = local_.init(*request);
    if (!made) return std::unexpected(made.error());
    return rewriting::to_message(*made);
  }
  std::optional<Program> sent;
  if (message.contains("program")) {
    auto program = program_from_json(message["program"]);
    if (!program) return fail(ErrorCode::kInternal, program.error().message);
    sent = std::move(*program);
  }
  if (op == "validate" || op == "hash") {
    if (!sent) return fail(ErrorCode::kInternal, "there is no program");
    if (op == "hash") {
      std::string hash;
      HONE_TAKE(hash, local_.hash(*sent, ""));
      return Json{{"hash", hash}};
    }
    std::string path;
    HONE_TAKE(path, protocol::get_string(message, "path"));
    if (auto valid = local_.validate(*sent, path); !valid) return std::unexpected(valid.error());
    return Json::object();
  }
  RewriteContext context;
  HONE_TAKE(context.task, task_from(message.value("task", Json())));
  HONE_TAKE(context.sizes, rewriting::sizes_from(message.value("sizes", Json())));
  HONE_TAKE(context.target, rewriting::target_from(message.value("target", Json())));
  const Program& program = sent ? *sent : context.task->reference;
  if (op == "proposals") {
    std::vector<Proposal> proposals;
    HONE_TAKE(proposals, local_.proposals(context, program));
    return Json{{"proposals", proposals}};
  }
  if (op == "lifted") {
    schedules::Explanation explanation;
    HONE_TAKE(explanation, local_.lifted(context, program));
    return rewriting::to_message(explanation);
  }
  if (op == "executed") {
    std::uint64_t seed = 0;
    HONE_TAKE(seed, rewriting::seed_from(message));
    NestOutputs outputs;
    HONE_TAKE(outputs, local_.executed(context, program, seed, {}));
    return rewriting::to_message(outputs);
  }
  if (op != "apply") return fail(ErrorCode::kInternal, "no such question");
  const auto step = step_from_json(message.value("step", Json()));
  if (!step) return fail(ErrorCode::kInternal, step.error().message);
  bool with_hash = false;
  HONE_TAKE(with_hash, protocol::get_bool(message, "with_hash"));
  const auto rewritten = local_.apply(context, program, *step, with_hash);
  if (!rewritten) return std::unexpected(rewritten.error());
  Json reply = {{"program", rewritten->program}};
  if (with_hash) reply["hash"] = rewritten->hash;
  return reply;
}

}  // namespace

void set_thread_stacks(std::size_t bytes) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstacksize(&attributes, bytes) == 0) pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

int serve_rewriting() {
  mallopt(M_ARENA_MAX, kArenas);  // address space is what is limited
  set_thread_stacks(kStack);
  int status = 1;
  std::thread([&] {
    Server server;
    status = runner::serve("rewrite", [&](const Json& m) { return server.handle(m); });
  }).join();
  return status;
}

}  // namespace hone
