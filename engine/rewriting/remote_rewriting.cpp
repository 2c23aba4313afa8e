#include "engine/rewriting/remote_rewriting.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "engine/rewriting/messages.h"
#include "evaluator/protocol/channel.h"
#include "sandbox/kept_programs.h"

namespace hone {
namespace {

using Json = nlohmann::json;
using Status = pool::Outcome::Status;

constexpr int kFewCores = 4, kCoresPerProcess = 4;

EvaluatorOptions pool_options(const RemoteRewritingOptions& options) {
  EvaluatorOptions out;
  out.sandbox = options.sandbox;
  out.warn = options.warn;
  out.placement = options.placement;
  out.tell_missing_layers = options.tell_missing_layers;
  out.runner_path =
      options.program.empty() ? sandbox::executable_folder() + "/hone" : options.program;
  return out;
}

int processes(const RemoteRewritingOptions& options) {
  if (options.processes > 0) return options.processes;
  // The other cores compile and check what comes out.
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return std::min(cores, std::max(kFewCores, cores / kCoresPerProcess));
}

/// Why a child ended on a source, for the person who wrote it.
std::string cause(const pool::Outcome& outcome) {
  // Clang's own report of its end is long.
  const auto how = outcome.detail.substr(0, outcome.detail.find(": "));
  switch (outcome.signal) {
    case SIGSEGV:
    case SIGBUS:
      return fmt::format("parsing it takes more stack than there is ({}); nest it less", how);
    case SIGABRT:
    case SIGKILL:
      return fmt::format("parsing it takes more memory than there is ({}); expand it less", how);
    default:
      return fmt::format("the process that parsed it ended ({})", how);
  }
}

/// What a child says of a program is believed as far as it can do no harm: a candidate that checks
/// other buffers than the task's would be compared with nothing.
bool keeps_buffers(const Task& task, const Program& program) {
  const auto& own = task.reference.buffers;
  if (program.buffers.size() < own.size()) return false;
  const auto scratch = program.buffers.begin() + static_cast<std::ptrdiff_t>(own.size());
  return std::equal(own.begin(), own.end(), program.buffers.begin()) &&
         std::all_of(scratch, program.buffers.end(),
                     [](const Buffer& b) { return b.role == Role::kScratch; });
}

/// An Error that says that nothing came of it, as a refusal of the step.
Error as_refusal(Error error) {
  if (error.code != ErrorCode::kInvalidInput) return error;
  return {ErrorCode::kRefused, "its result cannot be read: " + error.message};
}

Error cannot_be_read(Error error, const std::string& path) {
  if (error.code == ErrorCode::kInvalidInput) {
    error.message = fmt::format("{}: this source cannot be read: {}", path, error.message);
  }
  return error;
}

/// What a request does to the source, besides parsing it.
std::string_view doing(const Json& request) {
  const std::string op = request.value("op", "");
  if (op == "apply") return "rewriting";
  if (op == "proposals") return "looking for steps in";
  if (op == "lifted") return "lifting";
  if (op == "executed") return "lifting and computing";
  return "parsing";
}

std::unexpected<Error> nonsense(const std::string& what) {
  return invalid(fmt::format("the process that parsed it answered nonsense ({})", what));
}

}  // namespace

RemoteRewriting::RemoteRewriting(const RemoteRewritingOptions& options)
    : timeout_s_(options.timeout_s),
      processes_(processes(options)),
      pool_("rewrite", processes_, pool_options(options)) {}

Result<Json> RemoteRewriting::ask(const Json& request, const std::stop_token& stopping) {
  auto outcome = pool_.call(request, timeout_s_, pool::kUsualTurn, stopping);
  switch (outcome.status) {
    case Status::kReply:
      if (const auto error = protocol::error_of(outcome.reply)) return invalid(*error);
      return std::move(outcome.reply);
    case Status::kTimeout:
      return invalid(fmt::format("{} it takes more than {:.0f} s", doing(request), timeout_s_));
    case Status::kDied:
      return invalid(cause(outcome));
    case Status::kMalformed:
      return nonsense(outcome.detail);
    case Status::kCancelled:
      return fail(ErrorCode::kInfrastructure, "cancelled");
    case Status::kCannotStart:
      break;
  }
  return fail(ErrorCode::kEnvironment, outcome.detail);
}

Json RemoteRewriting::about(const char* op, const RewriteContext& context, const Program& program) {
  Json request = {{"op", op},
                  {"task", *context.task},
                  {"sizes", context.sizes},
                  {"target", rewriting::to_message(context.target)}};
  if (!(program == context.task->reference)) request["program"] = program;
  return request;
}

Result<Rewritten> RemoteRewriting::apply(const RewriteContext& context, const Program& program,
                                         const Step& step, bool with_hash) {
  Json request = about("apply", context, program);
  request["step"] = step;
  request["with_hash"] = with_hash;
  const auto reply = ask(request);
  if (!reply) return std::unexpected(as_refusal(reply.error()));
  if (auto failure = rewriting::failure_of(*reply)) return refused(failure->message);
  Rewritten rewritten;
  auto changed = program_from_json(reply->value("program", Json()));
  if (!changed) return refused(nonsense(changed.error().message).error().message);
  if (!keeps_buffers(*context.task, *changed)) {
    return refused(nonsense("other buffers than the task's").error().message);
  }
  rewritten.program = std::move(*changed);
  if (with_hash) {
    auto hash = rewriting::hash_from(*reply);
    if (!hash) return refused(nonsense(hash.error().message).error().message);
    rewritten.hash = std::move(*hash);
  }
  return rewritten;
}

Result<std::vector<Proposal>> RemoteRewriting::proposals(const RewriteContext& context,
                                                         const Program& program) {
  const auto reply = ask(about("proposals", context, program));
  if (!reply) return std::unexpected(as_refusal(reply.error()));
  if (auto failure = rewriting::failure_of(*reply)) return refused(failure->message);
  auto proposals = proposals_from_json(reply->value("proposals", Json()));
  if (!proposals) return refused(nonsense(proposals.error().message).error().message);
  return proposals;
}

Result<schedules::Explanation> RemoteRewriting::lifted(const RewriteContext& context,
                                                       const Program& program) {
  const auto reply = ask(about("lifted", context, program));
  if (!reply) return std::unexpected(as_refusal(reply.error()));
  if (auto failure = rewriting::failure_of(*reply)) return refused(failure->message);
  auto explanation = rewriting::explanation_from(*reply);
  if (!explanation) return refused(nonsense(explanation.error().message).error().message);
  return explanation;
}

Result<NestOutputs> RemoteRewriting::executed(const RewriteContext& context, const Program& program,
                                              std::uint64_t seed, const std::stop_token& stopping) {
  Json request = about("executed", context, program);
  request["seed"] = seed;
  const auto reply = ask(request, stopping);
  if (!reply) return std::unexpected(as_refusal(reply.error()));
  if (auto failure = rewriting::failure_of(*reply)) return refused(failure->message);
  auto outputs = rewriting::nest_outputs_from(*reply);
  if (!outputs) return refused(nonsense(outputs.error().message).error().message);
  return outputs;
}

Result<void> RemoteRewriting::validate(const Program& program, const std::string& path) {
  const auto reply = ask({{"op", "validate"}, {"program", program}, {"path", path}});
  if (!reply) return std::unexpected(cannot_be_read(reply.error(), path));
  if (auto failure = rewriting::failure_of(*reply)) return std::unexpected(*failure);
  return {};
}

Result<std::string> RemoteRewriting::hash(const Program& program, const std::string& path) {
  const auto reply = ask({{"op", "hash"}, {"program", program}});
  if (!reply) return std::unexpected(cannot_be_read(reply.error(), path));
  if (auto failure = rewriting::failure_of(*reply)) return std::unexpected(*failure);
  auto hash = rewriting::hash_from(*reply);
  if (!hash) {
    return std::unexpected(cannot_be_read(nonsense(hash.error().message).error(), path));
  }
  return hash;
}

std::string RemoteRewriting::formatted(const std::string& source) {
  const auto reply = ask({{"op", "format"}, {"source", source}});
  if (!reply || rewriting::failure_of(*reply)) return source;
  return protocol::get_string(*reply, "source", protocol::kMaxFrame).value_or(source);
}

Result<InitResult> RemoteRewriting::init(const InitRequest& request) {
  const auto reply = ask(rewriting::to_message(request));
  if (!reply) return std::unexpected(cannot_be_read(reply.error(), request.path));
  if (auto failure = rewriting::failure_of(*reply)) return std::unexpected(*failure);
  auto result = rewriting::init_result_from(*reply);
  if (!result) {
    return std::unexpected(cannot_be_read(nonsense(result.error().message).error(), request.path));
  }
  return result;
}

}  // namespace hone
