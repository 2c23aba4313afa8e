#include "tests/bench/modelled_time.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "evaluator/compile/compile.h"

namespace hone {

Sampled sample(const ConcreteProgram& program, const std::string& arch) {
  Sampled result;
  CompileJob job;
  job.source = program.source;
  job.defines = program.defines;
  for (const auto& launch : program.launches)
    if (std::ranges::find(job.kernels, launch.kernel) == job.kernels.end())
      job.kernels.push_back(launch.kernel);
  job.arch = arch;
  protocol::Runnable runnable{program, compile::compile_program(job), {}};
  if (runnable.compiled.verdict != Verdict::kOk) {
    result.failure = runnable.compiled.log.substr(0, runnable.compiled.log.find('\n'));
    return result;
  }
  auto module = emulator::Module::parse(runnable.compiled.ptx);
  if (!module) {
    result.failure = module.error().message;
    return result;
  }
  auto sampled = runner::sample_launches(runnable, 1, **module, *emulator::find_profile(arch));
  if (sampled.verdict != Verdict::kOk) result.failure = sampled.detail;
  result.launches = std::move(sampled.launches);
  return result;
}

double modelled_us(const Sampled& sampled, const emulator::Profile& profile, std::string& bound) {
  double total = 0;
  double longest = -1;
  for (const auto& l : sampled.launches) {
    const auto t =
        emulator::model(profile, l.counters, l.config, l.registers, l.static_shared_bytes);
    total += longest < 0 ? t.time_us : emulator::following_us(profile, t);
    if (t.time_us > longest) {
      longest = t.time_us;
      bound = t.bound;
    }
  }
  return total;
}

namespace {

std::vector<double> ranks(const std::vector<double>& v) {
  std::vector<std::size_t> order(v.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](auto a, auto b) { return v[a] < v[b]; });
  std::vector<double> r(v.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t j = i;
    while (j < order.size() && v[order[j]] == v[order[i]]) ++j;
    for (std::size_t k = i; k < j; ++k) r[order[k]] = 0.5 * static_cast<double>(i + j - 1);
    i = j;
  }
  return r;
}

}  // namespace

double spearman(const std::vector<double>& a, const std::vector<double>& b) {
  const auto x = ranks(a);
  const auto y = ranks(b);
  const double mean = 0.5 * static_cast<double>(x.size() - 1);
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::ranges::sort(v);
  return v.size() % 2 ? v[v.size() / 2] : 0.5 * (v[v.size() / 2 - 1] + v[v.size() / 2]);
}

}  // namespace hone
