// The handlers of routes.cpp's list, by the file that has them.
#pragma once

#include "engine/web/routes.h"

namespace hone::web {

// pages_boards.cpp
Answer boards_page(Context& context, const Request& request, const Parts& parts);
Answer task_page(Context& context, const Request& request, const Parts& parts);
// pages_candidate.cpp
Answer candidate_page(Context& context, const Request& request, const Parts& parts);
Answer export_api(Context& context, const Request& request, const Parts& parts);
// pages_runs.cpp
Answer runs_page(Context& context, const Request& request, const Parts& parts);
Answer run_page(Context& context, const Request& request, const Parts& parts);
// pages_jobs.cpp
Answer jobs_page(Context& context, const Request& request, const Parts& parts);
Answer job_page(Context& context, const Request& request, const Parts& parts);
Answer cancel_form(Context& context, const Request& request, const Parts& parts);
// pages_workers.cpp
Answer workers_page(Context& context, const Request& request, const Parts& parts);
// pages_submit.cpp
Answer submit_page(Context& context, const Request& request, const Parts& parts);
Answer submit_form(Context& context, const Request& request, const Parts& parts);
// submit.cpp
Answer submit_api(Context& context, const Request& request, const Parts& parts);
Answer cancel_api(Context& context, const Request& request, const Parts& parts);
// assets.cpp
Answer asset(Context& context, const Request& request, const Parts& parts);
// api.cpp
Answer boards_api(Context& context, const Request& request, const Parts& parts);
Answer tasks_api(Context& context, const Request& request, const Parts& parts);
Answer task_api(Context& context, const Request& request, const Parts& parts);
Answer candidate_api(Context& context, const Request& request, const Parts& parts);
Answer diff_api(Context& context, const Request& request, const Parts& parts);
Answer runs_api(Context& context, const Request& request, const Parts& parts);
Answer run_api(Context& context, const Request& request, const Parts& parts);
Answer points_api(Context& context, const Request& request, const Parts& parts);
Answer jobs_api(Context& context, const Request& request, const Parts& parts);
Answer workers_api(Context& context, const Request& request, const Parts& parts);
Answer job_api(Context& context, const Request& request, const Parts& parts);
Answer openapi(Context& context, const Request& request, const Parts& parts);
// server_metrics.cpp
Answer metrics_text(Context& context, const Request& request, const Parts& parts);
Answer healthz(Context& context, const Request& request, const Parts& parts);
// events.cpp
Answer run_events(Context& context, const Request& request, const Parts& parts);
Answer jobs_events(Context& context, const Request& request, const Parts& parts);
Answer job_events(Context& context, const Request& request, const Parts& parts);

}  // namespace hone::web
