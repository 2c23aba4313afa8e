// What a coordinator has to settle between its database and the queue when it takes the lead: that
// they belong together, and what the server has lost of what the database knows.
#pragma once

#include <string>
#include <vector>

#include "candidates/store/store.h"
#include "engine/queue/broker.h"
#include "engine/queue/lead.h"
#include "engine/queue/log_event.h"

namespace hone {

/// Whether the database may lead this queue. Errors: kInvalidInput where the queue belongs to
/// another database, or to this one in a later state (this file is an older copy): names both and
/// what to do; those of the server and the database.
[[nodiscard]] Result<void> check_belongs(queue::Broker& broker, const Store& store);

/// After another process took the database's fence. kInvalidInput: it serves another queue, which
/// the database leads since then.
[[nodiscard]] Result<void> check_leads_still(queue::Broker& broker, const Store& store);

/// Makes the queue the database's, whosever it was, by the leader after it took the fence. Says in
/// the log where the server has forgotten the queue since the database led it. Errors: of the
/// server and the database.
[[nodiscard]] Result<void> enter_queue(queue::Broker& broker, queue::Lead& lead, Store& store,
                                       const Log& log);

/// Queues again what the database kept of jobs of which the server knows nothing any more, and
/// names those that cannot be queued again: they end in the database. Nothing where nothing is
/// lost. Errors: of the server and the database; then it may be called again.
[[nodiscard]] Result<void> queue_lost_jobs(queue::Broker& broker, queue::Lead& lead, Store& store,
                                           const Log& log);

}  // namespace hone
