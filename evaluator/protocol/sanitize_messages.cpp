#include "evaluator/protocol/sanitize_messages.h"

#include <algorithm>

#include "evaluator/protocol/channel.h"
#include "evaluator/protocol/take.h"

namespace hone::protocol {
namespace {

using Json = nlohmann::json;
using emulator::CodePlace;
using emulator::Finding;

constexpr int kMaxFindings = 1000;
constexpr std::size_t kMaxSeeds = 256;
constexpr std::size_t kMaxText = 4096;       // [B]
constexpr std::size_t kMaxOutput = 1 << 21;  // [B]

Result<std::string> get_text(const Json& object, const char* key) {
  auto text = get_string(object, key, 64U << 10);
  if (!text) return text;
  return clean_text(*text, kMaxText);
}

Result<std::uint32_t> get_u32(const Json& object, const char* key) {
  const auto value = get_int(object, key);
  if (!value) return std::unexpected(value.error());
  if (*value < 0 || *value > 0xFFFFFFFFll) return malformed(key);
  return static_cast<std::uint32_t>(*value);
}

Result<std::uint64_t> get_u64(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_number_integer())
    return malformed(key);
  return object[key].get<std::uint64_t>();
}

Json to_message(const CodePlace& p) {
  return {{"ptx_line", p.ptx_line},
          {"instruction", p.instruction},
          {"file", p.file},
          {"line", p.line},
          {"call_line", p.call_line},
          {"inner_file", p.inner_file},
          {"inner_line", p.inner_line}};
}

Result<CodePlace> place_from(const Json& m) {
  CodePlace p;
  HONE_TAKE(p.ptx_line, get_u32(m, "ptx_line"));
  HONE_TAKE(p.instruction, get_text(m, "instruction"));
  HONE_TAKE(p.file, get_text(m, "file"));
  HONE_TAKE(p.line, get_u32(m, "line"));
  HONE_TAKE(p.call_line, get_u32(m, "call_line"));
  HONE_TAKE(p.inner_file, get_text(m, "inner_file"));
  HONE_TAKE(p.inner_line, get_u32(m, "inner_line"));
  return p;
}

Result<std::array<std::uint32_t, 3>> dim_from(const Json& m, const char* key) {
  const Json* list = nullptr;
  HONE_TAKE(list, get_array(m, key, 3));
  std::array<std::uint32_t, 3> d{};
  if (list->size() != 3) return malformed(key);
  for (std::size_t i = 0; i < 3; ++i) {
    if (!(*list)[i].is_number_unsigned()) return malformed(key);
    d[i] = (*list)[i].get<std::uint32_t>();
  }
  return d;
}

Json to_message(const SanitizeFinding& s) {
  const Finding& f = s.finding;
  return {{"kind", to_string(f.kind)},
          {"verdict", to_string(f.verdict)},
          {"what", f.what},
          {"lowered", f.kernel},
          {"place", to_message(f.place)},
          {"has_thread", f.has_thread},
          {"block", f.block},
          {"thread", f.thread},
          {"address", f.address},
          {"other", f.other},
          {"other_place", to_message(f.other_place)},
          {"count", f.count},
          {"launch", s.launch},
          {"kernel", s.kernel},
          {"schedule_seed", s.schedule_seed}};
}

Result<SanitizeFinding> finding_from(const Json& m) {
  SanitizeFinding s;
  Finding& f = s.finding;
  std::string text;
  HONE_TAKE(text, get_text(m, "kind"));
  const auto kind = emulator::parse_finding_kind(text);
  if (!kind) return malformed("finding");
  f.kind = *kind;
  HONE_TAKE(text, get_text(m, "verdict"));
  const auto verdict = parse_verdict(text);
  if (!verdict) return malformed("verdict");
  f.verdict = *verdict;
  HONE_TAKE(f.what, get_text(m, "what"));
  HONE_TAKE(f.kernel, get_text(m, "lowered"));
  HONE_TAKE(f.has_thread, get_bool(m, "has_thread"));
  HONE_TAKE(f.block, dim_from(m, "block"));
  HONE_TAKE(f.thread, dim_from(m, "thread"));
  HONE_TAKE(f.address, get_text(m, "address"));
  HONE_TAKE(f.other, get_text(m, "other"));
  HONE_TAKE(f.count, get_u64(m, "count"));
  const Json* part = nullptr;
  HONE_TAKE(part, get_object(m, "place"));
  HONE_TAKE(f.place, place_from(*part));
  HONE_TAKE(part, get_object(m, "other_place"));
  HONE_TAKE(f.other_place, place_from(*part));
  std::uint32_t launch = 0;
  HONE_TAKE(launch, get_u32(m, "launch"));
  s.launch = static_cast<int>(std::min<std::uint32_t>(launch, 1U << 20));
  HONE_TAKE(s.kernel, get_text(m, "kernel"));
  HONE_TAKE(s.schedule_seed, get_u64(m, "schedule_seed"));
  return s;
}

}  // namespace

Json to_message(const SanitizeJob& job) {
  return {{"op", "sanitize"},
          {"arch", job.arch},
          {"runnable", to_message(job.runnable)},
          {"seed", job.seed},
          {"schedule_seeds", job.schedule_seeds},
          {"max_findings", job.max_findings},
          {"inputs", static_cast<int>(job.inputs)},
          {"non_finite", static_cast<int>(job.non_finite)},
          {"threads", job.threads},
          {"seconds", job.seconds}};
}

Result<SanitizeJob> sanitize_job_from(const Json& m) {
  SanitizeJob job;
  HONE_TAKE(job.arch, get_string(m, "arch", 64));
  const Json* part = nullptr;
  HONE_TAKE(part, get_object(m, "runnable"));
  HONE_TAKE(job.runnable, runnable_from(*part));
  HONE_TAKE(job.seed, get_u64(m, "seed"));
  HONE_TAKE(part, get_array(m, "schedule_seeds", kMaxSeeds));
  for (const auto& seed : *part) {
    if (!seed.is_number_integer()) return malformed("schedule seed");
    job.schedule_seeds.push_back(seed.get<std::uint64_t>());
  }
  std::uint32_t most = 0;
  HONE_TAKE(most, get_u32(m, "max_findings"));
  job.max_findings = static_cast<int>(std::clamp<std::uint32_t>(most, 2, kMaxFindings));
  HONE_TAKE(job.inputs, input_set_from(m));
  HONE_TAKE(job.non_finite, non_finite_from(m));
  HONE_TAKE(job.threads, threads_from(m));
  HONE_TAKE(job.seconds, get_double(m, "seconds"));
  return job;
}

Json to_message(const SanitizeResult& r) {
  Json findings = Json::array();
  for (const auto& f : r.findings) findings.push_back(to_message(f));
  return {{"verdict", to_string(r.verdict)},
          {"detail", r.detail},
          {"stopped", r.stopped},
          {"findings", std::move(findings)},
          {"output", blob(r.output)},
          {"said", r.said},
          {"output_cut", r.output_cut},
          {"warp_instructions", r.warp_instructions}};
}

Result<SanitizeResult> sanitize_result_from(const Json& m) {
  SanitizeResult r;
  std::string text;
  HONE_TAKE(text, get_text(m, "verdict"));
  const auto verdict = parse_verdict(text);
  if (!verdict) return malformed("verdict");
  r.verdict = *verdict;
  HONE_TAKE(r.detail, get_text(m, "detail"));
  HONE_TAKE(r.stopped, get_text(m, "stopped"));
  HONE_TAKE(text, get_blob(m, "output", kMaxOutput));
  r.output = clean_text(text, kMaxOutput);
  HONE_TAKE(r.output_cut, get_bool(m, "output_cut"));
  HONE_TAKE(r.warp_instructions, get_u64(m, "warp_instructions"));
  HONE_TAKE(r.said, lines_from(m, "said"));
  const Json* findings = nullptr;
  HONE_TAKE(findings, get_array(m, "findings", 4096));
  for (const auto& item : *findings) {
    SanitizeFinding f;
    HONE_TAKE(f, finding_from(item));
    r.findings.push_back(std::move(f));
  }
  return r;
}

}  // namespace hone::protocol
