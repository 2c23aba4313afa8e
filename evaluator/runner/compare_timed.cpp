#include "evaluator/runner/compare_timed.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <span>

#include "evaluator/check/compare.h"
#include "evaluator/runner/partial_run.h"

namespace hone::runner {
namespace {

using emulator::ByteRange;
using protocol::Case;
using Ranges = PartialRun::Ranges;

constexpr std::size_t kComparedBlocks = 64;  // of the candidate, for one output
constexpr int kElementsOfABlock = 4;         // whose blocks are looked for in the reference
// An output of so many bytes, by so many blocks, is to be written by all of them at least so far.
constexpr std::int64_t kJudgedBytes = 16384;
constexpr std::uint64_t kJudgedBlocks = 16;
constexpr double kLeastShare = 0.5;
constexpr std::size_t kComparedBytes = 64U << 20;  // compared of one output

Ranges common(const Ranges& a, const Ranges& b) {
  Ranges out;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    const std::uint64_t begin = std::max(a[i].begin, b[k].begin),
                        end = std::min(a[i].end, b[k].end);
    if (begin < end) out.push_back({begin, end});
    (a[i].end < b[k].end ? i : k)++;
  }
  return out;
}

/// A byte of `ranges`, all of them as likely.
std::uint64_t any_byte(const Ranges& ranges, std::mt19937_64& random) {
  std::uint64_t total = 0;
  for (const ByteRange& range : ranges) total += range.end - range.begin;
  std::uint64_t at = random() % std::max<std::uint64_t>(1, total);
  for (const ByteRange& range : ranges) {
    if (at < range.end - range.begin) return range.begin + at;
    at -= range.end - range.begin;
  }
  return ranges.front().begin;
}

/// The elements of a buffer at which all of `made` are whole.
std::vector<std::uint64_t> elements_in(const Ranges& made, std::size_t size, std::size_t most) {
  std::vector<std::uint64_t> out;
  for (const ByteRange& range : made)
    for (std::uint64_t i = (range.begin + size - 1) / size; (i + 1) * size <= range.end; ++i)
      if (out.size() < most) out.push_back(i);
  return out;
}

std::vector<std::uint8_t> gathered(const EmulatedProgram& program, int buffer,
                                   const std::vector<std::uint64_t>& elements, std::size_t size) {
  std::vector<std::uint8_t> out(elements.size() * size);
  for (std::size_t i = 0; i < elements.size(); ++i)
    program.read(buffer, elements[i] * size, std::span(out).subspan(i * size, size));
  return out;
}

class Comparing {
 public:
  Comparing(const Case& one, const TimedModules& modules, const Tolerance& tolerance,
            std::uint64_t places)
      : one_(one), modules_(modules), tolerance_(tolerance), random_(places) {}

  TimedComparison run();

 private:
  bool stop(Verdict verdict, std::string detail) {
    result_.verdict = verdict;
    result_.detail = std::move(detail) + " (at the timed size)";
    return false;
  }
  /// False: the verdict stands.
  bool compare(const ConcreteBuffer& buffer);
  bool compare_made(const ConcreteBuffer& buffer, int own, int other);
  /// The same elements of the reference in double; null: there is none.
  std::unique_ptr<PartialRun> precise(int buffer, const std::set<std::uint64_t>& chosen);

  const Case& one_;
  const TimedModules& modules_;
  const Tolerance& tolerance_;
  std::mt19937_64 random_;
  std::unique_ptr<PartialRun> candidate_, reference_;
  std::set<std::uint64_t> chosen_;  ///< offsets of the output at hand that the reference has made
  TimedComparison result_;
};

std::unique_ptr<PartialRun> Comparing::precise(int buffer, const std::set<std::uint64_t>& chosen) {
  if (!one_.precise || modules_.precise == nullptr) return nullptr;
  auto run = PartialRun::load(*one_.precise, *modules_.precise, one_.seed, 8 * kComparedUnits);
  if (!run) return nullptr;
  const auto& buffers = one_.precise->program.buffers;
  const std::size_t size = size_of(buffers[static_cast<std::size_t>(buffer)].type);
  const std::size_t own =
      size_of(one_.reference.program.buffers[static_cast<std::size_t>(buffer)].type);
  for (const std::uint64_t offset : chosen)
    if (!(*run)->make(buffer, offset / own * size)) return nullptr;
  return std::move(*run);
}

bool Comparing::compare_made(const ConcreteBuffer& buffer, int own, int other) {
  const std::size_t size = size_of(buffer.type);
  const auto elements = elements_in(common(reference_->made(own), candidate_->made(other)), size,
                                    kComparedBytes / size);
  if (elements.empty()) return true;
  const auto want = gathered(reference_->program(), own, elements, size);
  const auto got = gathered(candidate_->program(), other, elements, size);
  result_.elements += static_cast<std::int64_t>(elements.size());
  const auto plain = check::compare(want, got, buffer.type, tolerance_);
  if (!plain) return stop(Verdict::kWrongResult, plain.error().message);
  result_.max_rel_error = std::max(result_.max_rel_error, plain->max_rel_error);
  if (plain->ok()) return true;
  const bool bits = tolerance_.rtol < 0;
  if (const auto exact = bits ? nullptr : precise(own, chosen_)) {
    const ScalarType type = one_.precise->program.buffers[static_cast<std::size_t>(own)].type;
    std::vector<std::uint64_t> known;
    const auto there = elements_in(exact->made(own), size_of(type), kComparedBytes / size);
    std::ranges::set_intersection(there, elements, std::back_inserter(known));
    const auto truth = gathered(exact->program(), own, known, size_of(type));
    const auto same = gathered(candidate_->program(), other, known, size);
    const auto against = check::compare(truth, type, same, buffer.type, tolerance_);
    if (known.size() == elements.size() && against && against->ok()) return true;
  }
  // Where in the buffer, not where among what was compared.
  check::Comparison said = *plain;
  if (said.first_mismatch >= 0)
    said.first_mismatch =
        static_cast<std::int64_t>(elements[static_cast<std::size_t>(said.first_mismatch)]);
  return stop(Verdict::kWrongResult, check::describe(said, buffer.name, buffer.type,
                                                     static_cast<std::int64_t>(elements.size())));
}

bool Comparing::compare(const ConcreteBuffer& buffer) {
  const int own = reference_->program().index_of(buffer.name);
  const int other = candidate_->program().index_of(buffer.name);
  if (other < 0)
    return stop(Verdict::kWrongResult, fmt::format("the program has no buffer '{}'", buffer.name));
  chosen_.clear();
  const std::uint64_t blocks = candidate_->blocks_that_write(other);
  std::set<std::uint64_t> tried;
  double written = 0;  // by those [B]
  for (std::size_t k = 0; k < kComparedBlocks && k < 2 * blocks && blocks > 0; ++k) {
    const std::uint64_t block = random_() % blocks;
    if (!tried.insert(block).second) continue;
    const Ranges ranges = candidate_->written_by(other, block);
    for (const ByteRange& range : ranges) written += static_cast<double>(range.end - range.begin);
    for (int i = 0; i < kElementsOfABlock && !ranges.empty(); ++i) {
      const std::uint64_t offset =
          any_byte(ranges, random_) / size_of(buffer.type) * size_of(buffer.type);
      if (!reference_->make(own, offset) || !candidate_->make(other, offset)) break;
      chosen_.insert(offset);
    }
    if (!reference_->why().empty() || !candidate_->why().empty()) break;
  }
  if (candidate_->verdict() != Verdict::kOk) return stop(candidate_->verdict(), candidate_->why());
  // Those that were left out would do what these do not, and nobody has timed them.
  const double share = written / static_cast<double>(std::max<std::size_t>(1, tried.size())) *
                       static_cast<double>(blocks) / static_cast<double>(buffer.bytes());
  if (candidate_->why().empty() && buffer.bytes() >= kJudgedBytes &&
      tried.size() >= std::min<std::uint64_t>(kJudgedBlocks, blocks) && share < kLeastShare)
    return stop(Verdict::kUnsupported,
                fmt::format("its blocks do too different work for a sample of them: as {} of {} "
                            "blocks go, all would write {:.0f} % of '{}'",
                            tried.size(), blocks, 100 * share, buffer.name));
  if (chosen_.empty()) {
    const std::string why = !candidate_->why().empty()  ? candidate_->why()
                            : reference_->why().empty() ? "no block was seen to write it"
                                                        : "the reference: " + reference_->why();
    if (result_.not_compared.empty())
      result_.not_compared = fmt::format("{}: {}", buffer.name, why);
    return true;
  }
  return compare_made(buffer, own, other);
}

TimedComparison Comparing::run() {
  // Each output has an equal part of what this may take.
  std::vector<const ConcreteBuffer*> outputs;
  for (const ConcreteBuffer& buffer : one_.reference.program.buffers)
    if (is_output(buffer.role)) outputs.push_back(&buffer);
  for (const ConcreteBuffer* buffer : outputs) {
    const double units = kComparedUnits / static_cast<double>(outputs.size());
    auto candidate = PartialRun::load(*one_.candidate, modules_.candidate, one_.seed, units);
    auto reference = PartialRun::load(one_.reference, modules_.reference, one_.seed, units);
    if (!candidate || !reference) {
      result_.not_compared = (candidate ? reference : candidate).error().message;
      return result_;
    }
    candidate_ = std::move(*candidate);
    reference_ = std::move(*reference);
    if (!compare(*buffer)) break;
  }
  return result_;
}

}  // namespace

TimedComparison compare_timed(const Case& one, const TimedModules& modules,
                              const Tolerance& tolerance, std::uint64_t places) {
  return Comparing(one, modules, tolerance, places).run();
}

}  // namespace hone::runner
