#include "engine/queue/messages_about.h"

#include "engine/queue/messages_detail.h"
#include "engine/search/search_limits.h"
#include "evaluator/protocol/channel.h"

namespace hone::queue {
namespace about_message {
namespace {

using namespace detail;
using protocol::clean_text;

constexpr std::string_view kAbout = "about";
constexpr std::size_t kMaxHash = 64;
constexpr double kMaxSeconds = 30.0 * 24 * 3600;
constexpr std::int64_t kMaxEvaluations = 1'000'000'000;

JobAbout read(const JsonCursor& root) {
  JobAbout about;
  expect_fields(
      root, {"id", "task", "task_hash", "owner", "archs", "priority", "seconds", "evaluations"});
  if (!root.ok()) return about;
  about.id = read_id(root.at("id"));
  about.task = read_text(root.at("task"), kMaxLine);
  about.task_hash = read_text(root.at("task_hash"), kMaxHash);
  about.owner = read_text(root.at("owner"), kMaxLine);
  about.archs = read_ids(root.at("archs"), kMostJobArchs);
  about.priority = static_cast<int>(root.at("priority").integer_in(-kMostPriority, kMostPriority));
  about.budget.seconds = root.at("seconds").number_in(0, kMaxSeconds);
  about.budget.evaluations = root.at("evaluations").integer_in(0, kMaxEvaluations);
  return about;
}

}  // namespace
}  // namespace about_message

JobAbout about(const JobMessage& job) {
  return {job.id,    job.task.name, job.task.hash(),  job.owner,
          job.archs, job.priority,  job.search.budget};
}

Result<std::string> encode(const JobAbout& about) {
  using namespace about_message;
  Json json = {{"id", about.id},
               {"task", clean_text(about.task, kMaxLine)},
               {"task_hash", clean_text(about.task_hash, kMaxHash)},
               {"owner", clean_text(about.owner, kMaxLine)},
               {"archs", about.archs},
               {"priority", about.priority},
               {"seconds", about.budget.seconds},
               {"evaluations", about.budget.evaluations}};
  return encode_as(kAbout, std::move(json), read);
}

Result<JobAbout> about_from(std::string_view bytes) {
  return detail::decode_as(about_message::kAbout, bytes, about_message::read);
}

}  // namespace hone::queue
