// The form that submits a task.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "engine/search/search_limits.h"
#include "engine/service/job_view.h"
#include "engine/web/handlers.h"
#include "engine/web/layout.h"
#include "engine/web/search_fields.h"
#include "engine/web/submit.h"
#include "engine/web/whole.h"
#include "rewriters/llm/client/endpoint.h"

namespace hone::web {

using page::url_part;

namespace {

constexpr std::string_view kArchField = "arch_";  ///< begins the names of the architectures' boxes

/// A whole task, for who has never seen one.
constexpr const char* kExample = R"cuda(/* hone {
  "name": "scale",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1000}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "scale", "grid": ["ceildiv(N,256)"], "block": [256],
                "args": ["x", "y", "N"]}]
} */
__global__ void scale(const float* x, float* y, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[i] = 2.0f * x[i];
}
)cuda";

std::string example_html() {
  return R"html(<details id="example"><summary>What a task looks like</summary>)html"
         "<p>The comment says at which sizes the kernel is timed and at which smaller ones it is "
         "checked, which buffers it has, and how it is launched. <code>hone init kernel.cu</code> "
         "writes the comment for a kernel that has its own main().</p>" +
         source_html(kExample, "An example of a task") + "</details>";
}

/// A form's lines end in CR LF, whatever was pasted: the task would be another one.
std::string with_newlines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') out += text[i];
  return out;
}

/// What is there to serve a job. Null: the queue cannot be reached.
std::shared_ptr<const ServiceState> state_of(Context& context) {
  const auto state = service_state(*context.broker, false);
  return state ? std::make_shared<const ServiceState>(*state) : nullptr;
}

/// That a job submitted now would wait, and for what; "" where it would not.
std::string waiting_html(const ServiceState* state) {
  const auto warn = [](std::string_view line) {
    return fmt::format(R"(<p class="bad" role="status">{}</p>)", line);
  };
  if (state == nullptr) return warn("The Redis server that holds the jobs cannot be reached now.");
  std::string html;
  if (!state->leads) html += warn("No coordinator leads now: a job waits until one does.");
  if (!state->trouble.empty()) html += warn("All jobs wait now: " + escape(state->trouble) + ".");
  if (!served_archs(state->workers.workers).empty()) return html;
  return html +
         warn(state->workers.foreign.empty()
                  ? "No worker is there now: a job waits for one."
                  : "Only workers of another version are there now: a job waits for others.");
}

/// A box for each architecture that a worker serves now.
std::string archs_html(const ServiceState* state, const Request& request) {
  std::string boxes;
  const auto served =
      state == nullptr ? std::vector<std::string>() : served_archs(state->workers.workers);
  for (const std::string& arch : served) {
    const std::string name = std::string(kArchField) + arch;
    // The only one there is, unless the form comes back.
    const bool ticked =
        !request.field(name).empty() || (served.size() == 1 && request.form.empty());
    boxes += fmt::format(
        R"(<label class="choice"><input type="checkbox" name="{}" value="1"{}> {}</label>)",
        escape(name), ticked ? " checked" : "", escape(arch));
  }
  return fmt::format(
      R"(<fieldset><legend>Architectures</legend>{}
<p><label for="archs">{}</label>
<input id="archs" name="archs" value="{}" class="mono" autocomplete="off" aria-describedby="archs-help">
<span id="archs-help" class="soft">sm_90, sm_80; emu:sm_90 is an emulated GPU, whose times are modelled. If nothing is chosen: the GPUs of the workers that are there.</span></p></fieldset>)",
      boxes.empty() ? "" : "<p>" + boxes + "</p>",
      boxes.empty() ? "Names" : "Other ones, separated by commas", escape(request.field("archs")));
}

std::string llm_html(const ServiceState* state, const Request& request) {
  const bool there = state != nullptr && state->language_model;
  if (!there && request.field("llm").empty()) return "";  // what was chosen stays
  return fmt::format(
      R"(<p><label><input id="llm" name="llm" type="checkbox" value="1"{}> Ask the coordinator's language model, too</label></p>
<p><label for="llm_tokens">Its tokens, at most</label>
<input id="llm_tokens" name="llm_tokens" type="number" min="1" value="{}" aria-describedby="llm-help"></p>
<p><label for="llm_cost">Its cost in dollars, at most</label>
<input id="llm_cost" name="llm_cost" inputmode="decimal" autocomplete="off" value="{}" aria-describedby="llm-help">
<span id="llm-help" class="soft">Empty, and at most: what the coordinator allows.</span></p>
)",
      request.field("llm").empty() ? "" : " checked", escape(request.field("llm_tokens")),
      escape(request.field("llm_cost")));
}

/// kTextOnly; what stands between two `, as a command.
std::string text_only_html() {
  std::string html = escape(kTextOnly);
  for (const char* tag : {"<code>", "</code>"}) html.replace(html.find('`'), 1, tag);
  return html;
}

std::string form_html(const ServiceState* state, const Request& request, const Failure* failure) {
  const std::string& priority = request.field("priority");
  return fmt::format(
      R"(<p>hone searches for a faster program that computes what your CUDA kernel computes, and checks that it does.</p>
{}{}<form class="submit" method="post" action="/submit" enctype="multipart/form-data" data-token="{}">
<p><label for="task_file">Task: a .cu file with a task comment</label>
<input id="task_file" name="task_file" type="file" accept=".cu,.cuh,.txt"></p>
<p><label for="task">Or its text</label>
<textarea id="task" name="task" rows="12" spellcheck="false" class="mono" aria-describedby="task-help">{}</textarea>
<span id="task-help" class="soft">If you choose a file, this text is ignored. {}</span></p>
{}{}<p><label for="priority">Priority</label>
<input id="priority" name="priority" type="number" min="{}" max="{}" value="{}" aria-describedby="priority-help">
<span id="priority-help" class="soft">A whole number from {} to {}. Of jobs that want the same workers, one of a higher priority gets more of them.</span></p>
{}<p><label for="token">Token</label>
<input id="token" name="token" type="password" required autocomplete="off" aria-describedby="token-help">
<span id="token-help" class="soft">From whoever runs this server. Kept until you close this tab.</span></p>
<p><button type="submit">Submit</button></p></form>)",
      example_html(),
      failure == nullptr
          ? ""
          : fmt::format(R"(<p class="bad" role="alert">{}</p>)", escape(failure->message)),
      failure != nullptr && failure->status == 401 ? "wrong" : "", escape(request.field("task")),
      text_only_html(), archs_html(state, request), search_fields_html(request), -kMostPriority,
      kMostPriority, escape(priority.empty() ? "0" : priority), -kMostPriority, kMostPriority,
      llm_html(state, request));
}

Response form_page(Context& context, const Request& request, const Failure* failure) {
  const auto state = state_of(context);
  Response response =
      render(context, {.title = "Submit a task",
                       .section = "/submit",
                       .html = waiting_html(state.get()) + form_html(state.get(), request, failure),
                       .scripts = {"token.js"}});
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

std::expected<Submission, Failure> submission_from(const Request& request) {
  Submission submission;
  submission.owner = "web";
  submission.archs = split_names(request.field("archs"));
  for (const auto& [name, value] : request.form)
    if (name.starts_with(kArchField)) submission.archs.push_back(name.substr(kArchField.size()));
  std::ranges::sort(submission.archs);
  const auto twice = std::ranges::unique(submission.archs);
  submission.archs.erase(twice.begin(), twice.end());
  if (const auto set = set_from_form(request, submission.search); !set)
    return std::unexpected(set.error());
  if (const std::string& text = request.field("priority"); !text.empty())
    if (!whole_of_text(text, -kMostPriority, kMostPriority, submission.priority))
      return bad_request(wrong_priority());
  submission.llm = !request.field("llm").empty();
  submission.llm_cost = request.field("llm_cost");
  if (const std::string& text = request.field("llm_tokens"); !text.empty())
    if (!whole_of_text(text, std::int64_t{1}, kMostLlmTokens, submission.llm_tokens))
      return bad_request("Tokens are a whole number from 1 to 2^50.");
  if (!submission.llm && (submission.llm_tokens > 0 || !submission.llm_cost.empty()))
    return bad_request(
        "Tokens and cost limit a language model: tick its box, or leave them empty.");
  if (!submission.llm_cost.empty() && !llm::parse_dollars(submission.llm_cost))
    return bad_request("The cost is in dollars, such as 0.50.");
  return submission;
}

}  // namespace

Answer submit_page(Context& context, const Request& request, const Parts&) {
  if (const auto may = may_change(context, request); !may) return std::unexpected(may.error());
  return form_page(context, request, nullptr);
}

Answer submit_form(Context& context, const Request& request, const Parts&) {
  if (const auto may = may_change(context, request); !may) return std::unexpected(may.error());
  const auto again = [&](const Failure& failure) {
    Response response = form_page(context, request, &failure);
    response.status = failure.status;
    if (failure.status == 503) response.headers.emplace_back("Retry-After", "5");
    return response;
  };
  if (const auto known = check_token(context, request.field("token")); !known)
    return again(known.error());
  const auto submission = submission_from(request);
  if (!submission) return again(submission.error());
  const std::string& file = request.field("task_file");
  const std::string text = file.empty() ? with_newlines(request.field("task")) : file;
  if (text.empty())
    return again({400, "bad_request", "There is no task: choose a .cu file, or paste its text."});
  const auto job = submit_text(context, text, *submission);
  if (!job) return again(job.error());
  Response response;
  response.status = 303;
  response.headers.emplace_back("Location", "/jobs/" + url_part(job->id));
  return response;
}

}  // namespace hone::web
