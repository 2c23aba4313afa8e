// The reference of an admission at one size: is it a reference?
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "evaluator/check/compare.h"
#include "evaluator/check/fakes.h"
#include "evaluator/check/finite.h"
#include "evaluator/fill/fill.h"
#include "evaluator/runner/emulate.h"
#include "evaluator/runner/emulated_program.h"
#include "evaluator/runner/emulated_reply.h"
#include "evaluator/runner/needed_inputs.h"
#include "evaluator/runner/reordered.h"

namespace hone::runner {
namespace {

using protocol::Case;
using protocol::EmulateReply;
using protocol::EmulateRequest;

/// What is wrong with what it wrote, and what is to be said of that. Fills `outputs`, by index.
EmulateReply look_at_outputs(const Case& one, const EmulatedProgram& program,
                             std::map<int, std::vector<std::uint8_t>>& outputs,
                             const Tolerance& tolerance) {
  const auto wrong = [](std::string detail) {
    return reply(Verdict::kWrongResult, std::move(detail), true);
  };
  const auto& buffers = one.reference.program.buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const auto& buffer = buffers[i];
    const int index = static_cast<int>(i);
    const bool written = program.was_written(index);
    if (buffer.role == Role::kIn && written)
      return reply(
          Verdict::kTampering,
          fmt::format("it writes its input '{}'; give that buffer the role inout", buffer.name),
          true);
    if (!is_output(buffer.role)) continue;
    if (!written) return wrong(fmt::format("it writes nothing to '{}'", buffer.name));
    if (const auto hole = program.first_unwritten(index); hole >= 0)
      return wrong(fmt::format("it leaves {}[{}] unwritten (at the check size {})", buffer.name,
                               hole / static_cast<std::int64_t>(size_of(buffer.type)),
                               sizes_text(one.reference.program)));
    outputs[index] = program.read(index);
  }
  if (outputs.empty()) return wrong("no buffer has the role out or inout");
  EmulateReply result = reply(Verdict::kOk, "");
  for (const auto& [index, bytes] : outputs) {
    const auto& buffer = buffers[static_cast<std::size_t>(index)];
    const auto found = check::non_finite_of(bytes, buffer.type);
    if (check::too_many(found, tolerance.non_finite))
      return wrong(check::refusal_of(one.reference.program, buffer, found, tolerance.non_finite));
    if (found.count > 0) result.said.push_back(check::said_of(buffer, found, one.inputs));
    if (const auto at = check::first_no_bool(bytes, buffer.type); at >= 0)
      return wrong(fmt::format("it writes {} to {}[{}]: a bool is 0 or 1",
                               bytes[static_cast<std::size_t>(at)], buffer.name, at));
  }
  return result;
}

using Inputs = std::vector<std::pair<const ConcreteBuffer*, std::vector<std::uint8_t>>>;

/// First contents of in and inout buffers; the verdict that stops it, else kOk.
EmulateReply read_inputs(const Case& one, Inputs& inputs) {
  for (const auto& buffer : one.reference.program.buffers) {
    if (buffer.role != Role::kIn && buffer.role != Role::kInOut) continue;
    const auto source = fill::Source::open(buffer, one.seed);
    if (!source) return reply(Verdict::kRefused, source.error().message, true);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(buffer.bytes()));
    (*source)->read(0, bytes.data(), bytes.size());
    if (const auto at = check::first_no_bool(bytes, buffer.type); at >= 0)
      return reply(Verdict::kRefused,
                   fmt::format("the file of '{}' holds {} at {}: a bool is 0 or 1", buffer.name,
                               bytes[static_cast<std::size_t>(at)], at),
                   true);
    inputs.emplace_back(&buffer, std::move(bytes));
  }
  return reply(Verdict::kOk, "");
}

}  // namespace

EmulateReply Emulate::admit(const Case& one, const Tolerance& tolerance) {
  const auto& program = one.reference.program;
  const auto module = kept_.module_for(one.reference.compiled);
  if (!module) return reply(Verdict::kUnsupported, module.error().message, true);
  auto first =
      EmulatedProgram::load(one.reference, one.seed, EmulatedProgram::Outputs::kUninitialised);
  if (!first) return reply(Verdict::kRefused, first.error().message, true);
  auto report = (*first)->run_all(**module, kReferenceBudget, true);
  if (report.verdict != Verdict::kOk) {
    if (report.verdict == Verdict::kTimeout)
      report.detail += fmt::format(" (at the check size {})", sizes_text(program));
    return reply(report.verdict, report.detail, true);
  }
  std::map<int, std::vector<std::uint8_t>> outputs;
  EmulateReply admitted = look_at_outputs(one, **first, outputs, tolerance);
  if (admitted.verdict != Verdict::kOk) return admitted;
  Inputs inputs;
  if (auto read = read_inputs(one, inputs); read.verdict != Verdict::kOk) return read;
  for (std::size_t i = 0; i < program.buffers.size(); ++i)
    if ((*first)->touched_whole(static_cast<int>(i)))
      admitted.read_whole.insert(program.buffers[i].name);
  check::Fakes fakes(tolerance);
  const auto precise = kept_.precise(one);
  for (const auto& [index, bytes] : outputs) {
    const auto& buffer = program.buffers[static_cast<std::size_t>(index)];
    fakes.see(buffer, bytes, inputs);
    if (precise == nullptr) continue;
    const auto own = check::compare(precise->outputs.at(buffer.name),
                                    precise->types.at(buffer.name), bytes, buffer.type, tolerance);
    if (own && std::isfinite(own->max_rel_error))
      admitted.reference_error = std::max(admitted.reference_error, own->max_rel_error);
  }
  admitted.fakes = fakes.tried();

  // The same input again, in the same memory and at other addresses, with another clock: state that
  // a kernel keeps between runs, and answers that depend on addresses or time, show.
  auto second = EmulatedProgram::load(one.reference, one.seed,
                                      EmulatedProgram::Outputs::kUninitialised, 4096 + 256);
  if (!second) return reply(Verdict::kRefused, second.error().message, true);
  (*first)->set_threads(threads_);
  (*second)->set_threads(threads_);
  if (auto renewed = (*first)->begin_again(one.seed); !renewed)
    return reply(Verdict::kRefused, renewed.error().message, true);
  for (auto* again : {first->get(), second->get()}) {
    report = again->run_all(**module, kReferenceBudget, false);
    if (report.verdict != Verdict::kOk) return reply(report.verdict, report.detail, true);
    for (const auto& [index, bytes] : outputs) {
      const auto other = again->read(index);
      const auto at = std::mismatch(bytes.begin(), bytes.end(), other.begin(), other.end());
      if (at.first == bytes.end() && at.second == other.end()) continue;
      const auto& buffer = program.buffers[static_cast<std::size_t>(index)];
      return reply(Verdict::kWrongResult,
                   fmt::format("it gives different answers on the same input: {}[{}]", buffer.name,
                               (at.first - bytes.begin()) /
                                   static_cast<std::ptrdiff_t>(size_of(buffer.type))),
                   true);
    }
  }
  return admitted;
}

EmulateReply Emulate::reorder_reference(const Case& one, const Tolerance& tolerance, bool exact,
                                        int schedule) {
  const auto module = kept_.module_for(one.reference.compiled);
  if (!module) return reply(Verdict::kUnsupported, module.error().message, true);
  const auto run = kept_.run(one);
  if (run->verdict != Verdict::kOk) return reply(run->verdict, run->detail, true);
  // Every candidate would be compared with one order's answer.
  auto result = run_reordered(one.reference, **module, one, run->outputs,
                              exact ? check::same_bits(tolerance) : tolerance, kReferenceBudget,
                              one.seed + static_cast<std::uint64_t>(schedule));
  if (result.verdict == Verdict::kWrongResult && exact)
    result.detail += "; under math 'exact' it must be the same to the bit";
  return result;
}

EmulateReply Emulate::look(const Case& one, NonFinite non_finite) {
  EmulateReply result = reply(Verdict::kOk, "");
  const auto run = kept_.run(one);
  if (run->verdict != Verdict::kOk) return result;
  for (const auto& buffer : one.reference.program.buffers) {
    const auto found = run->non_finite.find(buffer.name);
    if (found == run->non_finite.end() || found->second.count == 0) continue;
    const bool dropped = check::too_many(found->second, non_finite);
    result.said.push_back(dropped ? check::left_out(buffer, found->second, one.inputs)
                                  : check::said_of(buffer, found->second, one.inputs));
  }
  return result;
}

EmulateReply Emulate::compare_expected(const Case& one, const Tolerance& tolerance) {
  EmulateReply result = reply(Verdict::kOk, "");
  const auto run = kept_.run(one);
  if (run->verdict != Verdict::kOk) return result;
  result.expected_checked = 1;
  const auto precise = kept_.precise(one);
  for (const auto& buffer : one.reference.program.buffers) {
    const auto expected = one.expected.find(buffer.name);
    if (!is_output(buffer.role) || expected == one.expected.end()) continue;
    const auto& bytes = expected->second;
    const std::span<const std::uint8_t> got(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                            bytes.size());
    const auto plain = check::compare(run->outputs.at(buffer.name), got, buffer.type, tolerance);
    if (!plain) {
      result.expected_differs = plain.error().message;
      return result;
    }
    if (plain->ok()) continue;
    if (precise != nullptr) {
      const auto truth =
          check::compare(precise->outputs.at(buffer.name), precise->types.at(buffer.name), got,
                         buffer.type, tolerance);
      if (truth && truth->ok()) continue;
    }
    result.expected_differs = fmt::format(
        "{}, at {}", check::describe(*plain, buffer.name, buffer.type, buffer.elements()),
        sizes_text(one.reference.program));
    return result;
  }
  return result;
}

EmulateReply Emulate::admission_part(const Case& one, const EmulateRequest& request) {
  using Does = protocol::Part::Does;
  const protocol::Part& part = *request.part;
  const Tolerance own = check::for_inputs(request.tolerance, false);
  EmulateReply result = reply(Verdict::kOk, "");
  switch (part.does) {
    case Does::kAdmit:
      return admit(one, own);
    case Does::kReorder:
      return reorder_reference(one, own, request.bits == protocol::SameBits::kRequired,
                               part.schedules);
    case Does::kNeed: {
      const auto module = kept_.module_for(one.reference.compiled);
      const auto run = kept_.run(one);
      if (module && run->verdict == Verdict::kOk &&
          is_needed(one.reference, **module, one.seed, part.input, part.inputs, *run, threads_))
        result.read_whole = {part.input};
      return result;
    }
    case Does::kLook:
      return look(one, check::for_inputs(request.tolerance, true).non_finite);
    case Does::kExpect:
      return compare_expected(one, own);
    default:
      return reply(Verdict::kCrash, "an admission has no such part");
  }
}

}  // namespace hone::runner
