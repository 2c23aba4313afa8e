#include "engine/queue/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "candidates/sent_file.h"
#include "engine/queue/scripts.h"
#include "engine/queue/sha256.h"

namespace hone::queue {
namespace sent_inputs {
namespace {

constexpr std::int64_t kSending_s = 3600;  // for which room is kept between two pieces
constexpr std::size_t kMostOfAJob = 256;   // as a program has buffers
constexpr std::size_t kJobsAtOnce = 500;
constexpr const char* kBytes = "bytes";
constexpr const char* kWhole = "whole";

std::int64_t pieces_of(std::int64_t bytes) { return (bytes + kInputPiece - 1) / kInputPiece; }

std::int64_t number_at(std::span<const RedisReply> list, std::size_t i) {
  const auto text = i < list.size() ? list[i].as_string() : Result<std::string_view>("");
  return std::atoll(std::string(text.value_or("")).c_str());
}

}  // namespace
}  // namespace sent_inputs

Result<std::vector<std::string>> Inputs::offer(std::span<const Input> inputs) {
  using namespace sent_inputs;
  std::vector<std::string> missing;
  if (inputs.empty()) return missing;
  std::int64_t own = 0;
  std::vector<std::string> words = {broker_.keys().input(""), std::to_string(kMostInputs),
                                    std::to_string(kMostInputCount), std::to_string(kInputKept_s),
                                    std::to_string(kSending_s)};
  for (const Input& input : inputs) {
    if (input.bytes > kMostInput) {
      return invalid(fmt::format("an input has {}, and one of at most {} can be sent",
                                 size_text(input.bytes), size_text(kMostInput)));
    }
    own += input.bytes;
    words.push_back(input.sha256);
    words.push_back(std::to_string(input.bytes));
  }
  const std::string all = broker_.keys().inputs();
  const std::vector<std::string_view> arguments(words.begin(), words.end());
  const auto reply = broker_.redis().script(
      scripts::kOfferInputs, std::vector<std::string_view>{all}, arguments, kRepeatable);
  if (!reply) return std::unexpected(reply.error());
  if (reply->is_error()) return std::unexpected(reply->as_error("cannot send inputs"));
  const auto list = reply->as_array();
  if (!list) return std::unexpected(list.error());
  for (const RedisReply& item : *list) {
    const auto word = item.as_string();
    if (!word) return std::unexpected(word.error());
    missing.emplace_back(*word);
  }
  if (!missing.empty() && missing.front() == "full") {
    return invalid(fmt::format(
        "the inputs have {} in all, and the server has {} of other jobs' inputs already, of at "
        "most {}; they go {} days after the last job that needs them",
        size_text(own), size_text(number_at(*list, 1)), size_text(kMostInputs),
        kInputKept_s / 86'400));
  }
  return missing;
}

Result<void> Inputs::put(const Input& input, const Read& read) {
  using namespace sent_inputs;
  const std::string key = broker_.keys().input(input.sha256), sending = std::to_string(kSending_s),
                    kept = std::to_string(kInputKept_s);
  const auto gone = [&](const Result<RedisReply>& reply) -> Result<void> {
    if (!reply) return std::unexpected(reply.error());
    const auto done = reply->as_integer();
    if (!done) return std::unexpected(reply->as_error("cannot send an input"));
    if (*done == 1) return {};
    return fail(ErrorCode::kInfrastructure,
                "the server deleted an input while it was sent; submit again");
  };
  const std::int64_t pieces = pieces_of(input.bytes);
  for (std::int64_t i = 0; i < pieces; ++i) {
    const std::int64_t offset = i * kInputPiece;
    const auto piece = read(offset, std::min(kInputPiece, input.bytes - offset));
    if (!piece) return std::unexpected(piece.error());
    const std::string number = std::to_string(i);
    if (auto sent = gone(broker_.redis().script(
            scripts::kPutInput, std::vector<std::string_view>{key},
            std::vector<std::string_view>{number, *piece, sending}, kRepeatable));
        !sent)
      return sent;
  }
  const std::string count = std::to_string(pieces);
  return gone(broker_.redis().script(scripts::kInputWhole, std::vector<std::string_view>{key},
                                     std::vector<std::string_view>{count, kept}, kRepeatable));
}

Result<Inputs::State> Inputs::read(const std::string& sha256, const Write& write) {
  using namespace sent_inputs;
  const std::string key = broker_.keys().input(sha256);
  const auto about = broker_.redis().call({"HMGET", key, kBytes, kWhole}, kRepeatable);
  if (!about) return std::unexpected(about.error());
  if (about->is_error()) return std::unexpected(about->as_error("cannot read an input"));
  const auto fields = about->as_array();
  if (!fields) return std::unexpected(fields.error());
  if (fields->size() != 2 || (*fields)[1].is_nil()) return State::kMissing;
  const std::int64_t bytes = number_at(*fields, 0);
  if (bytes <= 0 || bytes > kMostInput) return State::kDamaged;
  Sha256 hash;
  for (std::int64_t i = 0; i < pieces_of(bytes); ++i) {
    const std::string number = std::to_string(i);
    const auto reply = broker_.redis().call({"HGET", key, number}, kRepeatable);
    if (!reply) return std::unexpected(reply.error());
    if (reply->is_error()) return std::unexpected(reply->as_error("cannot read an input"));
    if (reply->is_nil()) return State::kMissing;
    const auto piece = reply->as_string();
    if (!piece) return std::unexpected(piece.error());
    if (std::ssize(*piece) != std::min(kInputPiece, bytes - i * kInputPiece))
      return State::kDamaged;
    hash.add(*piece);
    if (auto written = write(*piece, bytes); !written) return std::unexpected(written.error());
  }
  return hash.hex() == sha256 ? State::kGood : State::kDamaged;
}

Result<void> Inputs::get(const std::string& sha256, const Write& write) {
  const auto state = read(sha256, write);
  if (!state) return std::unexpected(state.error());
  if (*state == State::kMissing) {
    return invalid(
        fmt::format("the server does not have the input with the SHA-256 {} (any more); "
                    "submit the job again, which sends it",
                    sha256));
  }
  if (*state == State::kDamaged) {
    return invalid(
        fmt::format("under the SHA-256 {} are other bytes on the server; submit the job again, "
                    "which sends the right ones",
                    sha256));
  }
  return {};
}

Result<void> Inputs::check(const std::string& sha256) {
  const auto state =
      read(sha256, [](std::string_view, std::int64_t) -> Result<void> { return {}; });
  if (!state) return std::unexpected(state.error());
  if (*state == State::kGood) return {};
  if (*state == State::kMissing)
    return invalid(fmt::format("an input is not on the server: {}", sha256));
  const auto deleted = broker_.redis().call({"DEL", broker_.keys().input(sha256)}, kRepeatable);
  if (!deleted) return std::unexpected(deleted.error());
  return invalid(fmt::format("an input had other bytes and was deleted: {}", sha256));
}

Result<void> Inputs::renew(std::span<const std::string> jobs) {
  using namespace sent_inputs;
  for (std::size_t begin = 0; begin < jobs.size(); begin += kJobsAtOnce) {
    const auto some = jobs.subspan(begin, std::min(kJobsAtOnce, jobs.size() - begin));
    std::vector<std::vector<std::string>> questions;
    for (const std::string& job : some)
      questions.push_back({"HGET", broker_.keys().job(job), "inputs"});
    const auto lists = broker_.redis().pipeline(questions, kRepeatable);
    if (!lists) return std::unexpected(lists.error());
    std::set<std::string> hashes;
    for (const RedisReply& list : *lists) {
      const auto text = list.as_string();
      if (!text) continue;
      std::string_view rest = text->substr(0, kMostOfAJob * 65);
      while (!rest.empty()) {
        const std::string_view hash = rest.substr(0, rest.find(' '));
        if (is_sha256(hash)) hashes.emplace(hash);
        rest.remove_prefix(std::min(rest.size(), hash.size() + 1));
      }
    }
    std::vector<std::vector<std::string>> commands;
    for (const std::string& hash : hashes)
      commands.push_back({"EXPIRE", broker_.keys().input(hash), std::to_string(kInputKept_s)});
    if (commands.empty()) continue;
    const auto replies = broker_.redis().pipeline(commands, kRepeatable);
    if (!replies) return std::unexpected(replies.error());
    for (const RedisReply& reply : *replies)
      if (reply.is_error()) return std::unexpected(reply.as_error("cannot keep inputs"));
  }
  return {};
}

std::string size_text(std::int64_t bytes) {
  if (bytes < 1 << 20) return fmt::format("{} bytes", bytes);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::vector<std::string> inputs_of(const Task& task) {
  std::set<std::string> hashes;
  for (const Buffer& buffer : task.reference.buffers)
    if (const auto sent = sent_file(buffer.fill.path)) hashes.insert(sent->sha256);
  return {hashes.begin(), hashes.end()};
}

}  // namespace hone::queue
