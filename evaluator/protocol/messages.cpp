#include "evaluator/protocol/messages.h"

#include <cmath>

#include <algorithm>
#include <map>

#include "evaluator/protocol/channel.h"
#include "evaluator/protocol/library_messages.h"
#include "evaluator/protocol/take.h"

namespace hone::protocol {
namespace {

using Json = nlohmann::json;

Result<int> get_small(const Json& object, const char* key) {
  const auto value = get_int(object, key);
  if (!value) return std::unexpected(value.error());
  if (*value < -(1 << 30) || *value > (1 << 30)) return malformed(key);
  return static_cast<int>(*value);
}

Json to_message(const KernelParameter& p) {
  return {{"kind", static_cast<int>(p.kind)},
          {"offset", p.offset},
          {"bytes", p.bytes},
          {"pointer", p.pointer},
          {"type", p.type}};
}

Result<KernelParameter> parameter_from(const Json& m) {
  KernelParameter p;
  int kind = 0;
  HONE_TAKE(kind, get_small(m, "kind"));
  if (kind < 0 || kind > 2) return malformed("parameter kind");
  p.kind = static_cast<KernelParameter::Kind>(kind);
  HONE_TAKE(p.offset, get_small(m, "offset"));
  HONE_TAKE(p.bytes, get_small(m, "bytes"));
  HONE_TAKE(p.pointer, get_bool(m, "pointer"));
  HONE_TAKE(p.type, get_string(m, "type", 4096));
  if (p.offset < 0 || p.bytes <= 0 || p.offset > 65536 || p.bytes > 65536)
    return malformed("parameter");
  return p;
}

Json to_message(const CompiledKernel& k) {
  Json parameters = Json::array();
  for (const auto& p : k.parameters) parameters.push_back(to_message(p));
  return {{"name", k.name},
          {"lowered", k.lowered_name},
          {"registers", k.resources.registers},
          {"spill_bytes", k.resources.spill_bytes},
          {"stack_bytes", k.resources.stack_bytes},
          {"static_shared_bytes", k.resources.static_shared_bytes},
          {"max_threads", k.resources.max_threads},
          {"parameters", parameters},
          {"parameter_bytes", k.parameter_bytes},
          {"marks_pointers", k.marks_pointers},
          {"code_hash", k.code_hash}};
}

Result<CompiledKernel> kernel_from(const Json& m) {
  CompiledKernel k;
  HONE_TAKE(k.name, get_string(m, "name", 4096));
  HONE_TAKE(k.lowered_name, get_string(m, "lowered", 65536));
  k.resources.kernel = k.name;
  HONE_TAKE(k.resources.registers, get_small(m, "registers"));
  HONE_TAKE(k.resources.spill_bytes, get_small(m, "spill_bytes"));
  HONE_TAKE(k.resources.stack_bytes, get_small(m, "stack_bytes"));
  HONE_TAKE(k.resources.static_shared_bytes, get_small(m, "static_shared_bytes"));
  HONE_TAKE(k.resources.max_threads, get_small(m, "max_threads"));
  HONE_TAKE(k.parameter_bytes, get_small(m, "parameter_bytes"));
  HONE_TAKE(k.marks_pointers, get_bool(m, "marks_pointers"));
  HONE_TAKE(k.code_hash, get_string(m, "code_hash", 64));
  const Json* parameters = nullptr;
  HONE_TAKE(parameters, get_array(m, "parameters", 1024));
  if (k.parameter_bytes < 0 || k.parameter_bytes > 65536) return malformed("kernel");
  for (const auto& item : *parameters) {
    KernelParameter p;
    HONE_TAKE(p, parameter_from(item));
    if (p.offset + p.bytes > k.parameter_bytes) return malformed("parameter");
    k.parameters.push_back(std::move(p));
  }
  return k;
}

constexpr std::size_t kMaxCounters = 256;
constexpr std::size_t kMostChecks = 192;  // of one request

Result<Verdict> get_verdict(const Json& m) {
  std::string text;
  HONE_TAKE(text, get_string(m, "verdict", 64));
  const auto verdict = parse_verdict(text);
  if (!verdict) return malformed("verdict");
  return *verdict;
}

}  // namespace

Json to_message(const CompileJob& job) {
  return {{"source", blob(job.source)},   {"defines", job.defines},
          {"kernels", job.kernels},       {"arch", job.arch},
          {"exact_math", job.exact_math}, {"code_for", static_cast<int>(job.code_for)}};
}

Result<CompileJob> compile_job_from(const Json& m) {
  CompileJob job;
  HONE_TAKE(job.source, get_blob(m, "source"));
  HONE_TAKE(job.arch, get_string(m, "arch", 64));
  HONE_TAKE(job.exact_math, get_bool(m, "exact_math"));
  std::int64_t code_for = 0;
  HONE_TAKE(code_for, get_int(m, "code_for"));
  if (code_for < 0 || code_for > static_cast<int>(CodeFor::kEmulator)) return malformed("code_for");
  job.code_for = static_cast<CodeFor>(code_for);
  const Json* kernels = nullptr;
  HONE_TAKE(kernels, get_array(m, "kernels", 1024));
  for (const auto& k : *kernels) {
    if (!k.is_string()) return malformed("kernel name");
    job.kernels.push_back(k.get<std::string>());
  }
  const Json* defines = nullptr;
  HONE_TAKE(defines, get_object(m, "defines"));
  for (const auto& [name, value] : defines->items()) {
    if (!value.is_string()) return malformed("define");
    job.defines[name] = value.get<std::string>();
  }
  return job;
}

Json to_message(const CompiledProgram& program) {
  Json kernels = Json::array();
  for (const auto& k : program.kernels) kernels.push_back(to_message(k));
  return {{"verdict", to_string(program.verdict)},
          {"missing_kernel", program.missing_kernel},
          {"log", program.log},
          {"ptx", blob(program.ptx)},
          {"cubin", blob(program.cubin)},
          {"kernels", kernels}};
}

Result<CompiledProgram> compiled_program_from(const Json& m) {
  CompiledProgram program;
  HONE_TAKE(program.verdict, get_verdict(m));
  HONE_TAKE(program.missing_kernel, get_bool(m, "missing_kernel"));
  HONE_TAKE(program.log, get_string(m, "log"));
  program.log = clean_text(program.log, 64U << 10);
  HONE_TAKE(program.ptx, get_blob(m, "ptx"));
  HONE_TAKE(program.cubin, get_blob(m, "cubin"));
  const Json* kernels = nullptr;
  HONE_TAKE(kernels, get_array(m, "kernels", 1024));
  for (const auto& item : *kernels) {
    CompiledKernel kernel;
    HONE_TAKE(kernel, kernel_from(item));
    program.kernels.push_back(std::move(kernel));
  }
  return program;
}

Json to_message(const Runnable& r) {
  ConcreteProgram bare = r.program;
  bare.source.clear();
  Json m = {{"program", bare}, {"compiled", to_message(r.compiled)}, {"key", r.key}};
  if (r.library) m["library"] = to_message(*r.library);
  return m;
}

Result<Runnable> runnable_from(const Json& m) {
  Runnable r;
  const Json* part = nullptr;
  HONE_TAKE(part, get_object(m, "program"));
  HONE_TAKE(r.program, concrete_program_from_json(*part));
  HONE_TAKE(part, get_object(m, "compiled"));
  HONE_TAKE(r.compiled, compiled_program_from(*part));
  HONE_TAKE(r.key, get_string(m, "key", 256));
  if (m.contains("library")) {
    HONE_TAKE(part, get_object(m, "library"));
    HONE_TAKE(r.library, matmul_call_from(*part, r.program));
  }
  return r;
}

Json to_message(const Tolerance& t) {
  return {{"rtol", t.rtol}, {"atol", t.atol}, {"non_finite", static_cast<int>(t.non_finite)}};
}

Result<NonFinite> non_finite_from(const Json& m) {
  std::int64_t value = 0;
  HONE_TAKE(value, get_int(m, "non_finite"));
  if (value < 0 || value > static_cast<int>(NonFinite::kSame)) return malformed("non_finite");
  return static_cast<NonFinite>(value);
}

Result<InputSet> input_set_from(const Json& m) {
  std::int64_t set = 0;
  HONE_TAKE(set, get_int(m, "inputs"));
  if (set < 0 || set >= std::ssize(kAllInputSets)) return malformed("inputs");
  return static_cast<InputSet>(set);
}

Result<Tolerance> tolerance_from(const Json& m) {
  Tolerance t;
  HONE_TAKE(t.rtol, get_double(m, "rtol"));
  HONE_TAKE(t.atol, get_double(m, "atol"));
  HONE_TAKE(t.non_finite, non_finite_from(m));
  return t;
}

Json to_message(const Case& one) {
  Json m = {{"reference", to_message(one.reference)}, {"seed", one.seed}};
  if (one.candidate) m["candidate"] = to_message(*one.candidate);
  if (one.precise) m["precise"] = to_message(*one.precise);
  if (one.inputs != InputSet::kOwn) m["inputs"] = static_cast<int>(one.inputs);
  if (one.made_up) m["made_up"] = true;
  if (one.in_part) m["in_part"] = true;
  if (one.repeatable) m["repeatable"] = true;
  for (const auto& [name, bytes] : one.expected) m["expected"][name] = blob(bytes);
  return m;
}

Result<Case> case_from(const Json& m) {
  Case one;
  const Json* part = nullptr;
  HONE_TAKE(part, get_object(m, "reference"));
  HONE_TAKE(one.reference, runnable_from(*part));
  if (m.contains("candidate")) {
    HONE_TAKE(part, get_object(m, "candidate"));
    HONE_TAKE(one.candidate, runnable_from(*part));
  }
  if (m.contains("precise")) {
    HONE_TAKE(part, get_object(m, "precise"));
    HONE_TAKE(one.precise, runnable_from(*part));
  }
  if (!m.contains("seed") || !m["seed"].is_number_integer()) return malformed("seed");
  one.seed = m["seed"].get<std::uint64_t>();
  if (m.contains("inputs")) HONE_TAKE(one.inputs, input_set_from(m));
  if (m.contains("made_up")) HONE_TAKE(one.made_up, get_bool(m, "made_up"));
  if (m.contains("in_part")) HONE_TAKE(one.in_part, get_bool(m, "in_part"));
  if (m.contains("repeatable")) HONE_TAKE(one.repeatable, get_bool(m, "repeatable"));
  if (m.contains("expected")) {
    HONE_TAKE(part, get_object(m, "expected"));
    for (const auto& [name, bytes] : part->items())
      HONE_TAKE(one.expected[name], get_blob(*part, name.c_str()));
  }
  return one;
}

Result<MathLevel> math_from(const Json& m) {
  std::string name;
  HONE_TAKE(name, get_string(m, "math", 64));
  const auto level = parse_math_level(name);
  if (!level) return malformed("math");
  return *level;
}

Result<SameBits> same_bits_from(const Json& m) {
  std::int64_t bits = 0;
  HONE_TAKE(bits, get_int(m, "bits"));
  if (bits < 0 || bits > static_cast<std::int64_t>(SameBits::kRequired)) return malformed("bits");
  return static_cast<SameBits>(bits);
}

Result<int> threads_from(const Json& m) {
  constexpr std::int64_t kMost = 256;
  if (!m.is_object() || !m.contains("threads")) return 1;
  const auto n = get_int(m, "threads");
  if (!n) return std::unexpected(n.error());
  return static_cast<int>(std::clamp<std::int64_t>(*n, 1, kMost));
}

namespace {

Result<std::uint64_t> get_count(const Json& m, const char* key) {
  if (!m.is_object() || !m.contains(key) || !m[key].is_number_unsigned()) return malformed(key);
  return m[key].get<std::uint64_t>();
}

Result<std::vector<int>> get_indices(const Json& m, const char* key, std::size_t most) {
  const Json* items = nullptr;
  HONE_TAKE(items, get_array(m, key, most));
  std::vector<int> out;
  for (const auto& item : *items) {
    if (!item.is_number_integer()) return malformed(key);
    out.push_back(item.get<int>());
  }
  return out;
}

Json to_message(const Part& p) {
  return {{"does", static_cast<int>(p.does)},
          {"own_work", p.own_work},
          {"schedules", p.schedules},
          {"often", p.often},
          {"timed_follows", p.timed_follows},
          {"wrote_variables", p.wrote_variables},
          {"unusable", p.unusable},
          {"input", p.input},
          {"inputs", p.inputs}};
}

Result<Part> part_from(const Json& m) {
  Part p;
  std::int64_t does = 0;
  HONE_TAKE(does, get_int(m, "does"));
  if (does < 0 || does > static_cast<std::int64_t>(Part::Does::kExpect)) return malformed("does");
  p.does = static_cast<Part::Does>(does);
  HONE_TAKE(p.own_work, get_count(m, "own_work"));
  HONE_TAKE(p.schedules, get_small(m, "schedules"));
  HONE_TAKE(p.often, get_bool(m, "often"));
  HONE_TAKE(p.timed_follows, get_bool(m, "timed_follows"));
  HONE_TAKE(p.wrote_variables, get_bool(m, "wrote_variables"));
  HONE_TAKE(p.unusable, get_indices(m, "unusable", kMostChecks));
  HONE_TAKE(p.input, get_string(m, "input", 1024));
  HONE_TAKE(p.inputs, get_small(m, "inputs"));
  return p;
}

constexpr const char* kPrograms[] = {"reference", "candidate", "precise"};  // of a case

/// Many checks run the same text, which may have megabytes: it is sent once.
class Texts {
 public:
  /// Takes the texts out of a case's message.
  void take_from(Json& one) {
    for (const char* name : kPrograms) {
      if (!one.contains(name)) continue;
      Json& ptx = one[name]["compiled"]["ptx"];
      const auto [known, is_new] = places_.try_emplace(ptx.get_binary(), texts_.size());
      if (is_new) texts_.push_back(ptx);
      one[name]["text"] = known->second;
      ptx = Json::binary({});
    }
  }
  [[nodiscard]] Json taken() && { return std::move(texts_); }

 private:
  std::map<std::vector<std::uint8_t>, std::size_t> places_;
  Json texts_ = Json::array();
};

/// A case whose texts are among those of `m`.
Result<Case> case_with_texts(const Json& m, const Json& message) {
  Case one;
  HONE_TAKE(one, case_from(message));
  const Json* texts = nullptr;
  HONE_TAKE(texts, get_array(m, "texts", 4 * kMostChecks));
  Runnable* const programs[] = {&one.reference, one.candidate ? &*one.candidate : nullptr,
                                one.precise ? &*one.precise : nullptr};
  for (std::size_t i = 0; i < std::size(kPrograms); ++i) {
    if (programs[i] == nullptr) continue;
    std::uint64_t place = 0;
    HONE_TAKE(place, get_count(message[kPrograms[i]], "text"));
    if (place >= texts->size() || !(*texts)[place].is_binary()) return malformed("text");
    const auto& bytes = (*texts)[place].get_binary();
    programs[i]->compiled.ptx.assign(bytes.begin(), bytes.end());
  }
  return one;
}

}  // namespace

Json to_message(const EmulateRequest& r) {
  Texts texts;
  const auto shortened = [&](const Case& one) {
    Json message = to_message(one);
    texts.take_from(message);
    return message;
  };
  Json checks = Json::array();
  for (const auto& c : r.checks) checks.push_back(shortened(c));
  Json m = {{"op", "emulate"},
            {"arch", r.arch},
            {"profile", r.profile},
            {"checks", std::move(checks)},
            {"tolerance", to_message(r.tolerance)},
            {"exact", r.exact},
            {"math", to_string(r.math)},
            {"bits", static_cast<int>(r.bits)},
            {"threads", r.threads},
            {"is_final", r.is_final},
            {"by_rules", r.by_rules},
            {"allowance", r.allowance},
            {"places", r.places},
            {"most_units", r.most_units}};
  if (r.timed) m["timed"] = shortened(*r.timed);
  if (r.part) m["part"] = to_message(*r.part);
  m["texts"] = std::move(texts).taken();
  return m;
}

Result<EmulateRequest> emulate_request_from(const Json& m) {
  EmulateRequest r;
  HONE_TAKE(r.arch, get_string(m, "arch", 64));
  HONE_TAKE(r.profile, get_string(m, "profile", 1U << 20));
  const Json* checks = nullptr;
  HONE_TAKE(checks, get_array(m, "checks", kMostChecks));
  for (const auto& item : *checks) {
    Case one;
    HONE_TAKE(one, case_with_texts(m, item));
    r.checks.push_back(std::move(one));
  }
  const Json* part = nullptr;
  if (m.contains("timed")) {
    HONE_TAKE(part, get_object(m, "timed"));
    HONE_TAKE(r.timed, case_with_texts(m, *part));
  }
  HONE_TAKE(part, get_object(m, "tolerance"));
  HONE_TAKE(r.tolerance, tolerance_from(*part));
  HONE_TAKE(r.exact, get_bool(m, "exact"));
  HONE_TAKE(r.math, math_from(m));
  HONE_TAKE(r.bits, same_bits_from(m));
  HONE_TAKE(r.threads, threads_from(m));
  HONE_TAKE(r.is_final, get_bool(m, "is_final"));
  HONE_TAKE(r.by_rules, get_bool(m, "by_rules"));
  if (!m.contains("allowance") || !m["allowance"].is_number_unsigned())
    return malformed("allowance");
  r.allowance = m["allowance"].get<std::uint64_t>();
  if (!m.contains("places") || !m["places"].is_number_integer()) return malformed("places");
  r.places = m["places"].get<std::uint64_t>();
  HONE_TAKE(r.most_units, get_double(m, "most_units"));
  if (m.contains("part")) {
    HONE_TAKE(part, get_object(m, "part"));
    HONE_TAKE(r.part, part_from(*part));
  }
  return r;
}

Result<std::vector<std::string>> lines_from(const Json& m, const char* key) {
  const Json* lines = nullptr;
  HONE_TAKE(lines, get_array(m, key, 256));
  std::vector<std::string> out;
  for (const auto& line : *lines) {
    if (!line.is_string()) return malformed(key);
    out.push_back(clean_text(line.get<std::string>(), 2048));
  }
  return out;
}

namespace {

/// Of an output: zeros, its mean, noise, and a copy of each input.
constexpr std::size_t kMostFakes = 1U << 16;

Json to_message(const check::TriedFake& f) {
  return {{"buffer", f.buffer}, {"fake", f.fake}, {"passed", f.passed}, {"exact", f.exact}};
}

Result<check::TriedFake> tried_fake_from(const Json& m) {
  check::TriedFake f;
  HONE_TAKE(f.buffer, get_string(m, "buffer", 1024));
  HONE_TAKE(f.fake, get_string(m, "fake", 2048));
  f.buffer = clean_text(f.buffer, 1024);
  f.fake = clean_text(f.fake, 2048);
  HONE_TAKE(f.passed, get_bool(m, "passed"));
  HONE_TAKE(f.exact, get_bool(m, "exact"));
  return f;
}

}  // namespace

Json to_message(const EmulateReply& r) {
  Json fakes = Json::array();
  for (const check::TriedFake& fake : r.fakes) fakes.push_back(to_message(fake));
  return {{"verdict", to_string(r.verdict)},
          {"reference_failed", r.reference_failed},
          {"detail", r.detail},
          {"max_rel_error", r.max_rel_error},
          {"same_bits", r.same_bits},
          {"reference_error", r.reference_error},
          {"unusable", r.unusable},
          {"said", r.said},
          {"read_whole", r.read_whole},
          {"expected_checked", r.expected_checked},
          {"expected_differs", r.expected_differs},
          {"not_compared", r.not_compared},
          {"compared", r.compared},
          {"time_us", r.time_us},
          {"time_error", r.time_error},
          {"bound", r.bound},
          {"counters", r.counters},
          {"reference_usable", r.reference_usable},
          {"exchanges", r.exchanges},
          {"wrote_variables", r.wrote_variables},
          {"reference_work", r.reference_work},
          {"fakes", std::move(fakes)}};
}

Result<EmulateReply> emulate_reply_from(const Json& m) {
  EmulateReply r;
  HONE_TAKE(r.verdict, get_verdict(m));
  HONE_TAKE(r.reference_failed, get_bool(m, "reference_failed"));
  HONE_TAKE(r.detail, get_string(m, "detail"));
  r.detail = clean_text(r.detail, 2048);
  HONE_TAKE(r.max_rel_error, get_double(m, "max_rel_error"));
  HONE_TAKE(r.same_bits, get_bool(m, "same_bits"));
  HONE_TAKE(r.reference_error, get_positive(m, "reference_error"));
  const Json* whole = nullptr;
  HONE_TAKE(whole, get_array(m, "read_whole", 1024));
  for (const auto& item : *whole) {
    if (!item.is_string()) return malformed("read_whole");
    r.read_whole.insert(item.get<std::string>());
  }
  HONE_TAKE(r.unusable, get_indices(m, "unusable", kMostChecks));
  HONE_TAKE(r.said, lines_from(m, "said"));
  std::int64_t checked = 0;
  HONE_TAKE(checked, get_int(m, "expected_checked"));
  if (checked < 0 || checked > 64) return malformed("expected_checked");
  r.expected_checked = static_cast<int>(checked);
  HONE_TAKE(r.expected_differs, get_string(m, "expected_differs"));
  r.expected_differs = clean_text(r.expected_differs, 2048);
  HONE_TAKE(r.not_compared, get_string(m, "not_compared"));
  r.not_compared = clean_text(r.not_compared, 2048);
  HONE_TAKE(r.compared, get_string(m, "compared"));
  r.compared = clean_text(r.compared, 2048);
  HONE_TAKE(r.time_us, get_positive(m, "time_us"));
  HONE_TAKE(r.time_error, get_positive(m, "time_error"));
  HONE_TAKE(r.bound, get_string(m, "bound", 256));
  r.bound = clean_text(r.bound, 256);
  const Json* counters = nullptr;
  HONE_TAKE(counters, get_object(m, "counters"));
  if (counters->size() > kMaxCounters) return malformed("counters");
  for (const auto& [name, value] : counters->items()) {
    if (!value.is_number() || !std::isfinite(value.get<double>())) return malformed("counter");
    r.counters[clean_text(name, 64)] = value.get<double>();
  }
  HONE_TAKE(r.reference_usable, get_bool(m, "reference_usable"));
  HONE_TAKE(r.exchanges, get_bool(m, "exchanges"));
  HONE_TAKE(r.wrote_variables, get_bool(m, "wrote_variables"));
  HONE_TAKE(r.reference_work, get_count(m, "reference_work"));
  const Json* fakes = nullptr;
  HONE_TAKE(fakes, get_array(m, "fakes", kMostFakes));
  for (const auto& item : *fakes) {
    check::TriedFake fake;
    HONE_TAKE(fake, tried_fake_from(item));
    r.fakes.push_back(std::move(fake));
  }
  return r;
}

}  // namespace hone::protocol
