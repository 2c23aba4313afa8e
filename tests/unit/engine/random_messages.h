// Messages of the queue with random contents, all valid.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "candidates/sent_file.h"
#include "candidates/task_reader.h"
#include "engine/queue/messages_about.h"
#include "engine/queue/messages_job.h"
#include "engine/queue/messages_places.h"
#include "engine/queue/messages_result.h"
#include "engine/queue/messages_work.h"
#include "engine/queue/messages_worker.h"
#include "engine/search/random.h"
#include "engine/search/search_limits.h"

namespace hone::queue {

inline constexpr const char* kScaleTask = R"CU(/* hone {
  "name": "scale", "sizes": {"N": 4096}, "check_sizes": [{"N": 100}, {"N": 37}],
  "tunables": {"BLOCK": [128, 256]}, "constraints": ["N >= 1"], "flops": "N", "torch": "2 * x",
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"], "fill": {"normal": [0, 2]}},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "scale", "grid": ["ceildiv(N,BLOCK)"], "block": ["BLOCK"],
                "args": ["x", "y", "N", 2.5]}]
}
*/ __global__ void scale(const float* x, float* y, int N, float f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[i] = f * x[i];
}
)CU";

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}

  WorkMessage work() {
    WorkMessage message{id(), id()};
    message.kind = flip() ? WorkMessage::Kind::kEvaluate : WorkMessage::Kind::kAdmit;
    const bool bare = message.kind == WorkMessage::Kind::kAdmit && flip();
    EvaluationRequest& r = message.request;
    r.checks.resize(index(6));
    for (CheckCase& check : r.checks) check = check_case(bare);
    r.timed = check_case(bare);
    r.tolerance = {random_.unit(), random_.unit(), flip() ? NonFinite::kSame : NonFinite::kNever};
    r.math = static_cast<MathLevel>(index(4));
    r.claims = static_cast<MathLevel>(index(4));
    r.stage = flip() ? Stage::kFinal : Stage::kQuick;
    r.best_time_us = time();
    r.screen_above_us = flip() ? time() : std::numeric_limits<double>::infinity();
    r.measure_first = flip();
    r.flops = 1e12 * random_.unit();
    r.seed = random_.bits();
    r.places = random_.bits();
    return message;
  }

  Evaluation evaluation() {
    Evaluation e;
    e.verdict = kAllVerdicts[index(std::size(kAllVerdicts))];
    e.detail = text();
    e.note = text();
    e.max_rel_error = time();
    e.reference_error = time();
    e.math = static_cast<MathLevel>(index(4));
    e.final_stage = flip();
    e.faster_than_roof = flip();
    e.elapsed_s = time();
    e.gates = {time(), time(), time(), time()};
    e.modelled_us = time();
    e.outpaced = flip();
    e.screened = flip();
    e.resources.resize(index(4));
    for (KernelResources& r : e.resources)
      r = {"kernel" + std::to_string(index(9)),
           small(),
           small(),
           small(),
           small(),
           small(),
           random_.unit()};
    Measurement& m = e.measurement;
    m.modelled = flip();
    for (double* number :
         {&m.time_us, &m.reference_time_us, &m.speedup, &m.ci95_low, &m.ci95_high, &m.roof_fraction,
          &m.warm_time_us, &m.reference_warm_time_us, &m.clock_mhz})
      *number = time();
    m.bound = flip() ? "dram" : "";
    m.samples_us.resize(index(50));
    m.reference_samples_us.resize(index(50));
    for (double& sample : m.samples_us) sample = time();
    for (double& sample : m.reference_samples_us) sample = time();
    m.outliers = small();
    m.discarded = small();
    for (std::size_t i = index(4); i > 0; --i) m.counters["counter" + std::to_string(i)] = -time();
    return e;
  }

  ResultMessage result() {
    ResultMessage message{id(), id(), id(), Evaluation{}};
    if (flip()) {
      message.evaluation = evaluation();
    } else {
      message.evaluation = fail(static_cast<ErrorCode>(index(7)), text());
    }
    return message;
  }

  JobMessage job() {
    JobMessage message;
    message.id = id();
    message.task = *parse_task(kScaleTask, "scale.cu");
    message.task.sizes["N"] = static_cast<std::int64_t>(1 + index(100'000));
    message.search.budget = {time(), static_cast<std::int64_t>(index(1000))};
    message.search.seed = random_.bits();
    message.search.strategy = flip() ? "evolve" : "random";
    message.search.finalists = static_cast<int>(1 + index(kMostFinalists));
    if (flip()) message.search.without = {"shared-tile", "unroll"};
    message.search.prescreen = flip();
    message.archs = {"sm_90", "sm_80"};
    message.priority = static_cast<int>(index(201)) - 100;
    message.submitted_at = static_cast<std::int64_t>(random_.bits() >> 20);
    message.owner = text();
    if (flip()) {
      message.model.emplace();
      if (flip()) message.model->tokens = 1 + small();
      if (flip()) message.model->nano_dollars = small();
      if (flip()) message.model->modes = {"diff", "steps"};
    }
    if (flip()) message.task.reference.buffers[0].fill = sent();
    return message;
  }

  JobStatus status() {
    JobStatus status;
    status.id = id();
    status.state = static_cast<JobState>(index(7));
    status.archs.resize(index(4));
    for (ArchProgress& progress : status.archs) {
      progress = {"sm_90", {}, time(), time(), time(), text(), flip() ? id() : ""};
      progress.counts.proposed = small();
      progress.counts.screened = small();
      for (std::int64_t& count : progress.counts.verdicts) count = small();
    }
    status.error = text();
    status.updated_at = small();
    if (flip()) {
      status.model.emplace();
      status.model->note = text();
      results::ModelUse& use = status.model->use;
      use.used = flip();
      for (std::int64_t* count :
           {&use.asked, &use.no_reply, &use.refused, &use.untried, &use.failed, &use.passed,
            &use.best, &use.input_tokens, &use.output_tokens, &use.nano_dollars})
        *count = small();
      if (flip()) use.refusals = {{text(), small()}, {text(), small()}};
    }
    return status;
  }

  JobPlaces places() {
    JobPlaces places{id(), {}};
    for (std::size_t i = index(4); i > 0; --i)
      places.places.push_back({"sm_90", text(), 1 + static_cast<int>(index(1000))});
    return places;
  }

  WorkerMessage worker() {
    WorkerMessage message{id(), text(), "0.1.0"};
    message.devices.resize(index(4));
    for (WorkerDevice& device : message.devices) {
      device.info = {"NVIDIA H200", "sm_90", "13.0", "NVRTC 13.0", 132, std::int64_t{141} << 30};
      device.info.ceilings.dram_bytes_per_s = 4e12 * random_.unit();
      device.info.ceilings.source = "measured";
      device.info.sandbox = "strict";
      device.modelled = flip();
      device.capacity = 1 + small();
      device.pool = pool_of(device.info, false);
    }
    message.draining = flip();
    message.started_at = small();
    message.evaluated = small();
    message.in_flight = small();
    return message;
  }

 private:
  std::size_t index(std::size_t n) { return random_.index(n); }
  bool flip() { return index(2) == 0; }
  int small() { return static_cast<int>(index(100)); }
  double time() { return 1000 * random_.unit(); }
  std::string id() {
    constexpr std::string_view kAlphabet = "abcxyzABCXYZ0189._:-";
    std::string id(1 + index(80), 'x');
    for (char& c : id) c = kAlphabet[index(kAlphabet.size())];
    return id;
  }
  std::string text() {
    const char* const pieces[] = {"slow", " ", "\n", "\t", "é", "λ", "😀", "\"", "% {}"};
    std::string text;
    for (std::size_t i = index(20); i > 0; --i) text += pieces[index(std::size(pieces))];
    return text;
  }
  ConcreteProgram program() {
    ConcreteProgram p;
    p.source = "// " + std::to_string(index(4)) + "\n__global__ void scale() {}\n";
    if (flip()) p.defines = {{"BLOCK", std::to_string(index(512))}};
    for (std::size_t i = 0; i < 1 + index(5); ++i) {
      ConcreteBuffer buffer{"b" + std::to_string(i), static_cast<ScalarType>(index(10)), {}};
      buffer.shape.resize(1 + index(3));
      for (std::int64_t& extent : buffer.shape) extent = static_cast<std::int64_t>(1 + index(4096));
      buffer.role = static_cast<Role>(index(4));
      buffer.fill.kind = flip() ? Fill::Kind::kUniform : Fill::Kind::kMultiples;
      buffer.fill.a = -random_.unit();
      buffer.fill.b = random_.unit();
      if (flip()) buffer.fill.step = random_.unit();
      if (flip()) buffer.fill.form = static_cast<int>(index(5));
      if (flip()) buffer.fill.pattern = static_cast<int>(index(9));
      if (flip()) buffer.fill.like = "x";
      if (flip()) {
        buffer.fill.like_a = -random_.unit();
        buffer.fill.like_b = random_.unit();
        buffer.fill.like_count = static_cast<std::int64_t>(1 + index(4096));
      }
      if (flip()) buffer.fill.through = ScalarType::kF16;
      if (index(4) == 0) buffer.fill = sent();
      p.buffers.push_back(std::move(buffer));
    }
    for (std::size_t i = 0; i < 1 + index(3); ++i) {
      ConcreteLaunch launch;
      launch.kernel = flip() ? "scale" : "ns::scale<float, 4>";
      launch.grid = {static_cast<std::int64_t>(1 + index(1 << 30)), 1, 65535};
      launch.block = {32, static_cast<std::int64_t>(1 + index(32)), 1};
      launch.shared_bytes = small();
      launch.args = {BufferIndex{static_cast<int>(index(p.buffers.size()))},
                     -static_cast<std::int64_t>(index(1000)), random_.unit(), 2.0};
      p.launches.push_back(std::move(launch));
    }
    return p;
  }
  /// What was sent of a file.
  Fill sent() {
    Fill fill{Fill::Kind::kFile, 0, 0, to_path({std::string(64, flip() ? '0' : 'f'), "m.pt2"})};
    fill.offset = small();
    return fill;
  }
  CheckCase check_case(bool bare) {
    CheckCase check{program(), bare ? ConcreteProgram{} : program(), random_.bits()};
    check.inputs = kAllInputSets[index(std::size(kAllInputSets))];
    check.hidden = flip();
    check.in_part = flip();
    return check;
  }

  Random random_;
};

}  // namespace hone::queue
