// What a language model may answer, in every mode, and text of others on its way into a prompt.
// What is accepted must hold what the readers promise.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "candidates/task_reader.h"
#include "rewriters/llm/prompt/prompt.h"
#include "rewriters/llm/reply/reply.h"
#include "rewriters/llm/text/shown_text.h"

namespace {

using namespace hone;

constexpr const char* kTask = R"cu(/* hone
{ "name": "t", "sizes": {"M": 64, "N": 32}, "check_sizes": [{"M": 3, "N": 5}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["M", "N"]},
              {"name": "y", "type": "f32", "shape": ["M", "N"], "role": "out"}],
  "launches": [{"kernel": "k", "grid": ["M"], "block": ["BLOCK"], "args": ["x", "y", "N"]}],
  "tunables": {"BLOCK": [32, 64]} }
*/
__global__ void k(const float* x, float* y, int N) {
  for (int i = threadIdx.x; i < N; i += BLOCK) {
    y[blockIdx.x * N + i] = x[blockIdx.x * N + i];
  }
}
)cu";

void check(bool holds, int line = __builtin_LINE()) {
  if (holds) return;
  std::fprintf(stderr, "line %d does not hold\n", line);
  abort();
}

void check_reason(const Error& error) {
  check(error.code == ErrorCode::kRefused && !error.message.empty());
  check(error.message.size() <= 1000 && !error.message.contains('\n'));
  check(llm::find_invisible(error.message).offset == std::string::npos);
}

void check_model(const Result<llm::ModelProgram>& model, const Task& task) {
  if (!model) {
    check_reason(model.error());
    return;
  }
  const Program program = llm::program_of(*model, task);
  check(instantiate(program, task.sizes).has_value());
  check(instantiate(program, task.check_sizes[0]).has_value());
  check(llm::find_invisible(model->source).offset == std::string::npos);
  check(llm::find_invisible(model->why).offset == std::string::npos);
  for (std::size_t i = 0; i < task.reference.buffers.size(); ++i) {
    check(program.buffers[i] == task.reference.buffers[i]);
  }
}

// Nothing of the text outside the blocks that the nonce delimits: what is left does not depend on
// it.
void check_prompt(const std::string& text, const Task& task) {
  llm::PromptInput input;
  input.task = &task;
  input.best = {task.reference, text, Verdict::kOk, "", 1, 1, true, text};
  input.best.program.source += text;
  input.failed = input.best;
  input.failed->verdict = Verdict::kCompileError;
  input.failed->detail = text;
  const auto prompt = llm::make_prompt(input, 1 << 20);
  check(prompt.has_value());
  const std::string& system = prompt->messages[0].text;
  const std::string nonce = system.substr(system.find("[[data ") + 7, 16);
  std::string_view rest = prompt->messages[1].text;
  std::size_t outside = 0;
  for (;;) {
    const std::size_t open = rest.find("[[data " + nonce);
    outside += rest.substr(0, open).size();
    if (open == rest.npos) break;
    const std::size_t close = rest.find("\n[[end " + nonce + "]]", open);
    check(close != rest.npos);
    rest.remove_prefix(close + 25);
  }
  check(outside < 2500);
  check(llm::visible_text(prompt->messages[1].text) == prompt->messages[1].text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Task task = *parse_task(kTask, "task.cu");
  static const std::vector<Proposal> proposals = {
      {"unroll", 1, "k/loop0", {{"factor", {std::int64_t{2}, std::int64_t{4}}}}, {}, "unrolls"},
      {"cache-hints", 2, "k", {{"loads", {std::string("ldg")}}}, {}, ""}};
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_model(llm::read_program(text, task), task);
  const auto diff = llm::read_diff(text, task.reference, task);
  check_model(diff ? Result<llm::ModelProgram>(diff->program) : std::unexpected(diff.error()),
              task);
  if (diff && !diff->whole)
    check(llm::edited_program(task.reference, diff->edits, diff->plan, task).has_value());
  const auto steps = llm::read_steps(text, proposals);
  if (!steps) check_reason(steps.error());
  const std::string shown = llm::shown_source(text);
  check(llm::shown_source(shown) == shown);
  check_prompt(text, task);
  return 0;
}
