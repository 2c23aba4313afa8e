#include "engine/service/succession.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <set>

#include "engine/queue/messages_job.h"
#include "engine/search/random.h"

namespace hone {
namespace succession {
namespace {

constexpr std::size_t kNamed = 20;  // jobs in one line of the log

std::string host() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unnamed host";
}

/// For people: the file, and where that is.
std::string place_of(const Store& store) {
  std::error_code code;
  auto path = std::filesystem::weakly_canonical(store.path(), code);
  return fmt::format("{} on {}", code ? store.path().string() : path.string(), host());
}

std::string listed(const std::vector<std::string>& ids) {
  const std::size_t shown = std::min(ids.size(), kNamed);
  std::string text = fmt::format("{}", fmt::join(ids.begin(), ids.begin() + shown, ", "));
  if (ids.size() > shown) text += fmt::format(" and {} more", ids.size() - shown);
  return text;
}

std::string queue_name(queue::Broker& broker) {
  return fmt::format("the queue '{}' at {}", broker.keys().prefix(),
                     broker.redis().url().display());
}

/// What a database remembers of the queue that it leads: its name on the server, and its prefix.
std::string remembered(const std::string& life, const std::string& prefix) {
  return life + " " + prefix;
}
std::string prefix_in(const std::string& queue) {
  const auto space = queue.find(' ');
  return space == queue.npos ? "" : queue.substr(space + 1);
}

/// The server forgot the queue, or it is a new one.
void say_forgotten(queue::Broker& broker, const Store& store, const Log& log) {
  log({.level = LogLevel::kError,
       .event = "queue_lost",
       .message = fmt::format(
           "{} has lost what it held: the Redis server was started again without its data, or it "
           "is another one. Jobs that {} knows of are queued again. Lost are the list of jobs that "
           "had ended (their results are in the database) and whatever was submitted and not taken "
           "yet: submit it again. To prevent it, see --require-durable",
           queue_name(broker), store.path().string())});
}

}  // namespace
}  // namespace succession

Result<void> check_belongs(queue::Broker& broker, const Store& store) {
  const auto owner = broker.owner();
  if (!owner) return std::unexpected(owner.error());
  const auto identity = store.identity();
  if (!identity) return std::unexpected(identity.error());
  const auto term = store.fence();
  if (!term) return std::unexpected(term.error());
  const std::string queue = succession::queue_name(broker), own = succession::place_of(store);
  if (const std::string led = succession::prefix_in(identity->queue);
      !led.empty() && led != broker.keys().prefix()) {
    return invalid(fmt::format(
        "the database {} ({}) leads the queue '{}', and this is {}: each would take the other's "
        "jobs for lost. Give --db a file of its own for this queue; or --adopt-queue if '{}' is "
        "given up",
        identity->id, own, led, queue, led));
  }
  if (!*owner) return {};
  if ((*owner)->database != identity->id) {
    return invalid(fmt::format(
        "{} belongs to the database {} ({}), and this is another: {} ({}). Results would be split "
        "between the two. Give --db that file, shared between the hosts that may lead; or --prefix "
        "for a queue of its own; or --adopt-queue to have {} take this queue over",
        queue, (*owner)->database, (*owner)->place, identity->id, own, own));
  }
  if ((*owner)->term > *term) {
    return invalid(fmt::format(
        "{} was led last with a later state of this database: {} in term {}. {} is a copy that "
        "ends at term {} (both have the id {}). Give --db the file that was written last, or "
        "--adopt-queue to go on from this copy, without what was found since",
        queue, (*owner)->place, (*owner)->term, own, *term, identity->id));
  }
  return {};
}

Result<void> check_leads_still(queue::Broker& broker, const Store& store) {
  const auto owner = broker.owner();
  if (!owner) return std::unexpected(owner.error());
  const auto identity = store.identity();
  if (!identity) return std::unexpected(identity.error());
  if (!*owner || identity->queue.empty() ||
      identity->queue == succession::remembered((*owner)->life, broker.keys().prefix()))
    return {};
  return invalid(fmt::format(
      "the database {} ({}) was taken over by a coordinator of another queue than {}: on another "
      "Redis server, or of another --prefix. Give each queue a database of its own with --db; or, "
      "if the other one is given up, start this one with --adopt-queue",
      identity->id, succession::place_of(store), succession::queue_name(broker)));
}

Result<void> enter_queue(queue::Broker& broker, queue::Lead& lead, Store& store, const Log& log) {
  const auto owner = broker.owner();
  if (!owner) return std::unexpected(owner.error());
  const auto identity = store.identity();
  if (!identity) return std::unexpected(identity.error());
  queue::QueueOwner own;
  own.database = identity->id;
  own.place = succession::place_of(store);
  own.life = *owner ? (*owner)->life : fmt::format("{:016x}", secret_bits());
  own.term = lead.token();
  const std::string led = succession::prefix_in(identity->queue);
  if (!*owner && led == broker.keys().prefix()) succession::say_forgotten(broker, store, log);
  if (!led.empty() && led != broker.keys().prefix()) {
    log({.level = LogLevel::kWarning,
         .event = "queue_adopted",
         .message = fmt::format("the database {} ({}) led the queue '{}' and leads {} now",
                                own.database, own.place, led, succession::queue_name(broker))});
  }
  if (*owner && (*owner)->database != identity->id) {
    log({.level = LogLevel::kWarning,
         .event = "queue_adopted",
         .message = fmt::format("{} is taken over from the database {} ({}) by {} ({})",
                                succession::queue_name(broker), (*owner)->database, (*owner)->place,
                                own.database, own.place)});
  }
  if (const auto queue = succession::remembered(own.life, broker.keys().prefix());
      identity->queue != queue) {
    if (auto done = store.remember_queue(queue); !done) return done;
  }
  return lead.own(own);
}

Result<void> queue_lost_jobs(queue::Broker& broker, queue::Lead& lead, Store& store,
                             const Log& log) {
  const auto kept = store.kept_jobs();
  if (!kept) return std::unexpected(kept.error());
  const auto begun = store.begun_jobs();
  if (!begun) return std::unexpected(begun.error());
  std::vector<std::string> ids = *kept;
  const std::set<std::string> known(kept->begin(), kept->end());
  for (const std::string& id : *begun)
    if (!known.contains(id)) ids.push_back(id);
  const auto lost = lead.unknown_jobs(ids);
  if (!lost) return std::unexpected(lost.error());
  std::vector<std::string> again, gone;
  for (const std::string& id : *lost) {
    const auto bytes = store.kept_job(id);
    if (!bytes) return std::unexpected(bytes.error());
    const auto message = *bytes ? queue::job_from(**bytes) : invalid("it was not kept");
    if (message) {
      if (const auto queued = broker.submit(*message); !queued) return queued;
      again.push_back(id);
      continue;
    }
    gone.push_back(fmt::format("{} ({})", id, message.error().message));
    if (const auto forgot = store.forget_job(id); !forgot) return forgot;
  }
  if (!again.empty()) {
    log({.level = LogLevel::kWarning,
         .event = "jobs_queued_again",
         .message = fmt::format("queued again {} jobs that the Redis server had lost: {}",
                                again.size(), succession::listed(again)),
         .fields = {{"jobs", again.size()}}});
  }
  if (!gone.empty()) {
    log({.level = LogLevel::kError,
         .event = "jobs_lost",
         .message = fmt::format("the Redis server lost {} jobs that cannot be queued again, submit "
                                "them anew: {}",
                                gone.size(), succession::listed(gone)),
         .fields = {{"jobs", gone.size()}}});
  }
  return {};
}

}  // namespace hone
