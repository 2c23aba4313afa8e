// What the form and the API need to change something: the right to, and what is done with it.
#pragma once

#include <string>
#include <string_view>

#include "engine/queue/messages_job.h"
#include "engine/service/submission.h"
#include "engine/web/context.h"
#include "engine/web/http.h"

namespace hone::web {

/// For who has files to submit.
inline constexpr std::string_view kTextOnly =
    "Only the text of a .cu file is taken here. To submit a module that PyTorch exported (.pt2), "
    "or "
    "a task that reads files, run `hone submit FILE --redis URL` where they are: it sends them.";

/// 404 unless the server takes submissions, 403 for what another site's page has a browser send.
[[nodiscard]] std::expected<void, Failure> may_change(const Context& context,
                                                      const Request& request);
/// 401 unless `given` is the token.
[[nodiscard]] std::expected<void, Failure> check_token(const Context& context,
                                                       std::string_view given);
[[nodiscard]] std::string wrong_priority();

/// Checks the task and puts it on the queue. The failures are the client's to read.
[[nodiscard]] std::expected<queue::JobMessage, Failure> submit_text(Context& context,
                                                                    const std::string& text,
                                                                    const Submission& submission);
/// Ends the job with this id or beginning of one, with may_change()'s and check_token()'s rights.
/// Its whole id. 409: it had ended before.
[[nodiscard]] std::expected<std::string, Failure> cancel_job(Context& context,
                                                             const Request& request,
                                                             std::string_view token,
                                                             const std::string& id_or_prefix);

}  // namespace hone::web
