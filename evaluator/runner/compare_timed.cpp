#include "evaluator/runner/compare_timed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>

#include "evaluator/check/compare.h"
#include "evaluator/check/doubles.h"
#include "evaluator/check/finite.h"
#include "evaluator/check/judge.h"
#include "evaluator/check/made_up.h"
#include "evaluator/fill/input_sets.h"
#include "evaluator/runner/byte_ranges.h"
#include "evaluator/runner/partial_run.h"

namespace hone::runner {
namespace {

using protocol::Case;
using Made = PartialRun::Made;

/// How much is compared of one set of inputs. Blocks, half of them the reference's, are drawn: up
/// to `blocks` while either program spent less than `units`, up to `wanted` while less than
/// `heavy`, and `least` in any case, as long as all outputs together take no more than `most`.
struct Effort {
  std::size_t blocks, wanted, least;
  double units, heavy, most;
  /// A program whose blocks cannot be told apart runs in full, if it takes no more [units].
  double whole;
  /// Fewer blocks compared, for the candidate's own reasons, and nothing is known of it.
  std::size_t enough;
};
constexpr Effort kThorough = {96, 32, 16, 12e6, 45e6, 200e6, 320e6, 16};
/// On inputs that the task does not list.
constexpr Effort kBrief = {32, 8, 4, 3e6, 8e6, 12e6, 30e6, 16};
/// Of programs that hone's own rules made: they hide nothing, and a search waits.
constexpr Effort kOfRules = {32, 8, 2, 4e6, 12e6, 12e6, 12e6, 2};
constexpr Effort kBriefOfRules = {16, 4, 2, 1e6, 2e6, 3e6, 6e6, 2};
/// Once more in another order.
constexpr Effort kAgain = {16, 4, 1, 3e6, 8e6, 12e6, 60e6, 1};
/// Of a program that runs in full, whose threads exchange words or which wrote a variable.
constexpr double kAgainInFull = 160e6;
/// Or so few, where so many ran for them.
constexpr std::size_t kFewBlocks = 6, kManyRun = 96;
constexpr int kElementsOfABlock = 4;     // whose blocks are looked for in the other program
constexpr std::size_t kMostMissing = 3;  // elements that nobody seems to write
constexpr std::uint64_t kWholeReference = 100'000'000;  // [warp instructions]
/// Together blocks are to write so much of what the reference's write, less this many deviations.
constexpr double kLeastShare = 0.98, kDeviations = 4;
constexpr std::size_t kLeastDrawn = 16;          // else they do not tell
constexpr std::size_t kMostElements = 3U << 20;  // compared of one output
constexpr std::int64_t kNumbersOf32Bits = std::int64_t{1} << 32;
constexpr std::size_t kGroup = 256;  // elements that have a measure of their own

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

std::uint64_t bytes_in(const Ranges& ranges) {
  std::uint64_t total = 0;
  for (const ByteRange& range : ranges) total += range.end - range.begin;
  return total;
}

/// A byte of `ranges`, all of them as likely.
std::uint64_t any_byte(const Ranges& ranges, std::mt19937_64& random) {
  std::uint64_t at = random() % std::max<std::uint64_t>(1, bytes_in(ranges));
  for (const ByteRange& range : ranges) {
    if (at < range.end - range.begin) return range.begin + at;
    at -= range.end - range.begin;
  }
  return ranges.front().begin;
}

/// The elements of a buffer at which all of `made` are whole; of very many about `most`, in pieces
/// that `places` chooses.
std::vector<std::int64_t> elements_in(const Ranges& made, std::size_t size, std::size_t most,
                                      std::uint64_t places) {
  const double share = static_cast<double>(most) * static_cast<double>(size) /
                       static_cast<double>(std::max<std::uint64_t>(1, bytes_in(made)));
  std::mt19937_64 random(places);
  std::vector<std::int64_t> out;
  for (const ByteRange& range : made) {
    const std::uint64_t first = (range.begin + size - 1) / size, end = range.end / size;
    for (std::uint64_t piece = first; piece < end; piece += kGroup) {
      if (share < 1 && static_cast<double>(random() >> 11) * 0x1p-53 > share) continue;
      for (std::uint64_t i = piece; i < std::min<std::uint64_t>(end, piece + kGroup); ++i)
        out.push_back(static_cast<std::int64_t>(i));
    }
  }
  return out;
}

/// So that neighbours in a row, or a few short rows, are judged by their own measure: groups of
/// kGroup, filled up with what they begin with.
std::vector<std::int64_t> in_groups(const std::vector<std::int64_t>& elements, std::int64_t width) {
  std::vector<std::int64_t> out;
  std::size_t begin = 0;  // of a group
  const auto fill_up = [&] {
    for (std::size_t i = 0; (out.size() - begin) % kGroup != 0; ++i) out.push_back(out[begin + i]);
    begin = out.size();
  };
  const std::int64_t row = std::max<std::int64_t>(1, width);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const bool new_row = i > 0 && elements[i] / row != elements[i - 1] / row;
    if (new_row && out.size() - begin >= kGroup) fill_up();
    out.push_back(elements[i]);
  }
  if (out.size() > begin) fill_up();
  return out;
}

std::vector<std::uint8_t> gathered(const EmulatedProgram& program, int buffer,
                                   const std::vector<std::int64_t>& elements, std::size_t size) {
  std::vector<std::uint8_t> out(elements.size() * size);
  for (std::size_t i = 0; i < elements.size(); ++i)
    program.read(buffer, static_cast<std::uint64_t>(elements[i]) * size,
                 std::span(out).subspan(i * size, size));
  return out;
}

/// What randomly drawn blocks of a program write to a buffer.
struct Drawn {
  std::set<std::uint64_t> blocks;
  double sum = 0, squares = 0;  // of what each wrote [B], [B^2]
  void add(double bytes) {
    sum += bytes;
    squares += bytes * bytes;
  }
  /// All blocks together, and how far off that may be [B].
  [[nodiscard]] std::pair<double, double> all(std::uint64_t of) const {
    const double n = static_cast<double>(std::max<std::size_t>(1, blocks.size()));
    const double mean = sum / n;
    const double variance = std::max(0.0, squares / n - mean * mean) / n *
                            std::max(0.0, 1 - n / static_cast<double>(of));
    return {mean * static_cast<double>(of), std::sqrt(variance) * static_cast<double>(of)};
  }
};

class Comparing {
 public:
  Comparing(const Case& one, const TimedModules& modules, const TimedQuestion& question)
      : one_(one),
        modules_(modules),
        question_(question),
        effort_(question.by_rules ? (question.thorough ? kOfRules : kBriefOfRules)
                                  : (question.thorough ? kThorough : kBrief)),
        enough_(question.enough > 0 ? question.enough : effort_.enough),
        random_(question.places) {}

  TimedComparison run();

 private:
  using Load = Result<std::unique_ptr<PartialRun>>;
  struct Output {
    const ConcreteBuffer* buffer;
    int own, other;                  ///< the reference's and the candidate's number of it
    std::set<std::uint64_t> chosen;  ///< offsets that the reference has made
  };

  bool stop(Verdict verdict, std::string detail) {
    result_.verdict = verdict;
    result_.detail = std::move(detail);
    if (one_.inputs != InputSet::kOwn)
      result_.detail += fmt::format(" (on {})", to_string(one_.inputs));
    result_.detail += " (at the timed size)";
    return false;
  }
  void note(const Output& output, const std::string& why) {
    if (result_.not_compared.empty())
      result_.not_compared = fmt::format("{}: {}", output.buffer->name, why);
  }
  [[nodiscard]] bool made_up() const { return one_.inputs != InputSet::kOwn; }
  /// False: the verdict stands.
  bool compare(Output& output);
  /// Draws blocks and makes what they write in both programs.
  void draw(Output& output, const Effort& effort);
  /// Of those that the candidate treats apart, what they write, too.
  void draw_rare(Output& output);
  /// Makes elements among what a drawn block writes. True: some were.
  bool make_some(Output& output, const Ranges& ranges);
  /// All of the candidate, where it is not too much.
  bool run_candidate_whole(Output& output);
  bool judge(const Output& output, PartialRun& candidate, const std::string& of_which);
  /// The candidate in another order of warps.
  bool again(const std::vector<Output>& outputs);
  bool again_in(std::uint64_t schedule, const std::vector<Output>& outputs);
  /// The candidate called once more, with other contents, where it wrote a variable.
  bool called_again();
  /// These elements of the reference in another form; null: they could not be made.
  std::unique_ptr<PartialRun> another(const Output& output,
                                      const std::vector<std::int64_t>& elements,
                                      const protocol::Runnable& reference,
                                      const emulator::Module& module);

  const Case& one_;
  const TimedModules& modules_;
  const TimedQuestion& question_;
  Effort effort_;
  const std::uint64_t enough_;  ///< blocks that must be compared for a verdict
  std::mt19937_64 random_;
  const std::shared_ptr<SharedInputs> inputs_ = std::make_shared<SharedInputs>();
  std::unique_ptr<PartialRun> candidate_, reference_;
  // Of the output at hand:
  Drawn drawn_by_reference_, drawn_by_candidate_;
  std::size_t blocks_ = 0;           ///< drawn, of which elements were made in both
  std::set<std::uint64_t> missing_;  ///< made by the reference, and no block of the candidate
  bool reference_gave_up_ = false;
  TimedComparison result_;
};

std::unique_ptr<PartialRun> Comparing::another(const Output& output,
                                               const std::vector<std::int64_t>& elements,
                                               const protocol::Runnable& reference,
                                               const emulator::Module& module) {
  auto run = PartialRun::load(reference, module, one_.seed, 8 * kThorough.most,
                              std::make_shared<SharedInputs>());
  if (!run) return nullptr;
  const std::size_t size =
      size_of(reference.program.buffers[static_cast<std::size_t>(output.own)].type);
  for (const std::int64_t element : elements)
    if ((*run)->make(output.own, static_cast<std::uint64_t>(element) * size) != Made::kMade)
      return nullptr;
  return std::move(*run);
}

bool Comparing::judge(const Output& output, PartialRun& candidate, const std::string& of_which) {
  const ConcreteBuffer& buffer = *output.buffer;
  const std::size_t size = size_of(buffer.type);
  const std::int64_t width = buffer.shape.empty() ? 1 : buffer.shape.back();
  const auto alone = elements_in(common(reference_->made(output.own), candidate.made(output.other)),
                                 size, kMostElements, question_.places);
  if (alone.empty()) return true;
  const bool local = is_float(buffer.type) && !question_.to_the_bit;
  const auto elements = local ? in_groups(alone, width) : alone;
  const auto want = gathered(reference_->program(), output.own, elements, size);
  const auto got = gathered(candidate.program(), output.other, elements, size);
  if (made_up() &&
      check::too_many(check::non_finite_of(want, buffer.type), question_.tolerance.non_finite)) {
    result_.useless = true;
    return true;
  }
  const auto bits = check::compare(want, got, buffer.type, check::same_bits(question_.tolerance));
  if (!bits) return stop(Verdict::kWrongResult, bits.error().message);
  result_.same_bits = result_.same_bits && bits->ok();
  std::unique_ptr<PartialRun> exact;
  std::vector<std::uint8_t> truth;
  check::Question question{
      .want = {want, buffer.type},
      .got = {got, buffer.type},
      .width = static_cast<std::int64_t>(kGroup),
      .tolerance = question_.tolerance,
      .inputs = one_.inputs,
      .exact = question_.exact,
      .truth = [&]() -> check::Elements {
        if (truth.empty() && one_.precise && modules_.precise != nullptr)
          exact = another(output, alone, *one_.precise, *modules_.precise);
        if (exact == nullptr) return {};
        const ScalarType type =
            one_.precise->program.buffers[static_cast<std::size_t>(output.own)].type;
        const auto there = elements_in(exact->made(output.own), size_of(type), SIZE_MAX, 0);
        if (!std::ranges::includes(there, alone)) return {};
        truth = gathered(exact->program(), output.own, elements, size_of(type));
        return {truth, type};
      },
      .places = elements};
  std::vector<std::uint8_t> coarse, rounded;
  question.in_doubles =
      buffer.type == ScalarType::kF64 && check::computes_in_doubles(one_.reference.compiled.ptx);
  const auto made_by = [&](PartialRun& run, std::size_t size_there) {
    return std::ranges::includes(elements_in(run.made(output.own), size_there, SIZE_MAX, 0), alone);
  };
  if (question_.math == MathLevel::kTf32)
    question.rounded = [&]() -> check::Elements {
      // In double, where the reference has such a form.
      const bool in_double = one_.precise && modules_.precise != nullptr;
      protocol::Runnable reference = in_double ? *one_.precise : one_.reference;
      auto program = with_tf32_inputs(reference.program);
      if (!program) return {};
      reference.program = *std::move(program);
      const auto run =
          another(output, alone, reference, in_double ? *modules_.precise : modules_.reference);
      const ScalarType type = reference.program.buffers[static_cast<std::size_t>(output.own)].type;
      if (run == nullptr || !made_by(*run, size_of(type))) return {};
      rounded = gathered(run->program(), output.own, elements, size_of(type));
      return {rounded, type};
    };
  if (question_.math < MathLevel::kTf32 && !made_up())
    question.coarse = [&]() -> check::Elements {
      protocol::Runnable reference = one_.reference;
      auto program = with_coarse_inputs(reference.program);
      if (!program) return {};
      reference.program = *std::move(program);
      const auto run = another(output, alone, reference, modules_.reference);
      if (run == nullptr || !made_by(*run, size)) return {};
      coarse = gathered(run->program(), output.own, elements, size);
      return {coarse, buffer.type};
    };
  const auto judged = question_.to_the_bit ? Result<check::Judgement>(check::Judgement{*bits, ""})
                                           : check::judge(question, buffer.name);
  if (!judged) return stop(Verdict::kWrongResult, judged.error().message);
  result_.max_rel_error = std::max(result_.max_rel_error, judged->comparison.max_rel_error);
  if (judged->ok()) return true;
  check::Comparison said = judged->comparison;
  result_.perhaps_by_chance = said.perhaps_by_chance;
  if (question_.to_the_bit && said.first_mismatch >= 0)
    said.first_mismatch = elements[static_cast<std::size_t>(said.first_mismatch)];
  return stop(Verdict::kWrongResult,
              (judged->detail.empty() ? check::describe(said, buffer.name, buffer.type,
                                                        static_cast<std::int64_t>(elements.size()))
                                      : judged->detail) +
                  of_which);
}

bool Comparing::make_some(Output& output, const Ranges& ranges) {
  const std::size_t size = size_of(output.buffer->type);
  bool some = false;
  for (int i = 0; i < kElementsOfABlock && !ranges.empty(); ++i) {
    const std::uint64_t offset = any_byte(ranges, random_) / size * size;
    const Made wanted = reference_->make(output.own, offset);
    if (wanted == Made::kFailed) break;
    if (wanted == Made::kNotFound) continue;
    const Made made = candidate_->make(output.other, offset);
    if (made == Made::kFailed) break;
    output.chosen.insert(offset);
    if (made == Made::kNotFound) missing_.insert(offset);
    some = some || made == Made::kMade;
    if (missing_.size() >= kMostMissing) break;
  }
  return some;
}

void Comparing::draw(Output& output, const Effort& effort) {
  const double before = std::max(candidate_->spent_units(), reference_->spent_units());
  const std::uint64_t plenty = kMostElements * size_of(output.buffer->type);
  const auto goes_on = [&] {
    if (blocks_ >= effort.least && bytes_in(reference_->made(output.own)) > plenty) return false;
    const double spent = std::max(candidate_->spent_units(), reference_->spent_units()) - before;
    return (made_up() || missing_.size() < kMostMissing) && candidate_->why().empty() &&
           reference_->why().empty() &&
           (blocks_ < effort.least || spent < effort.units ||
            (blocks_ < effort.wanted && spent < effort.heavy));
  };
  for (std::size_t k = 0; k < 2 * effort.blocks && blocks_ < effort.blocks && goes_on(); ++k) {
    // What it leaves out, only the reference's blocks show; what it does differently here and
    // there, its own.
    const bool of_reference = k % 2 == 0;
    if (!of_reference && candidate_->is_whole()) continue;
    // Made-up inputs leave to the task's own what nobody seems to write.
    if (of_reference && missing_.size() >= kMostMissing) continue;
    if (of_reference && reference_->is_whole()) {
      const Ranges all = reference_->made(output.own);
      if (!all.empty() && make_some(output, all)) ++blocks_;
      continue;
    }
    PartialRun& side = of_reference ? *reference_ : *candidate_;
    const int buffer = of_reference ? output.own : output.other;
    Drawn& drawn = of_reference ? drawn_by_reference_ : drawn_by_candidate_;
    const std::uint64_t blocks = side.blocks_that_write(buffer);
    if (drawn.blocks.size() >= blocks) continue;
    std::uint64_t block = random_() % blocks;
    while (drawn.blocks.contains(block)) block = (block + 1) % blocks;
    const Ranges ranges = side.written_by(buffer, block);
    if (!side.why().empty()) break;
    drawn.blocks.insert(block);
    drawn.add(static_cast<double>(bytes_in(ranges)));
    if (make_some(output, ranges)) ++blocks_;
  }
  if (!reference_->why().empty()) reference_gave_up_ = true;
}

void Comparing::draw_rare(Output& output) {
  if (!question_.thorough || question_.by_rules || candidate_->is_whole()) return;
  for (const std::uint64_t block : candidate_->rare_blocks(output.other)) {
    const Ranges ranges = candidate_->written_by(output.other, block);
    if (!candidate_->why().empty() || !reference_->why().empty()) return;
    if (make_some(output, ranges)) ++blocks_;
  }
}

bool Comparing::run_candidate_whole(Output& output) {
  const double units = question_.candidate_units;
  if (candidate_->is_whole()) return true;
  if (units <= 0 || units > effort_.whole) return false;
  const auto most = static_cast<std::uint64_t>(2 * units + 10e6);
  auto whole = PartialRun::load(*one_.candidate, modules_.candidate, one_.seed, 0, inputs_);
  if (!whole) return false;
  const bool ran = (*whole)->run_whole(most);
  result_.units += units;
  if (!ran && (*whole)->verdict() == Verdict::kOk) return false;  // it takes too long
  candidate_ = std::move(*whole);
  if (!ran) return true;
  missing_.clear();
  for (const std::uint64_t offset : output.chosen)
    if (candidate_->make(output.other, offset) != Made::kMade) missing_.insert(offset);
  blocks_ = 0;
  draw(output, effort_);
  return true;
}

bool Comparing::compare(Output& output) {
  const ConcreteBuffer& buffer = *output.buffer;
  drawn_by_reference_ = drawn_by_candidate_ = {};
  missing_.clear();
  blocks_ = 0;
  draw_rare(output);
  draw(output, effort_);
  const auto enough = [&] {
    std::uint64_t least = enough_;
    if (!reference_->is_whole())
      least = std::clamp<std::uint64_t>(reference_->blocks_that_write(output.own), 1, least);
    // What many blocks of earlier launches wrote, few of the last one show.
    return blocks_ >= least || (blocks_ >= kFewBlocks && candidate_->blocks_run() >= kManyRun);
  };
  if (reference_gave_up_ && !enough() && candidate_->verdict() == Verdict::kOk) {
    // Blocks that wait for one another, or share what they write, say: then in full.
    const std::string why = reference_->why();
    // What a search waits for does not begin a run that cannot end in time.
    const bool hopeless = question_.by_rules && reference_->is_too_long();
    const auto most =
        question_.by_rules ? static_cast<std::uint64_t>(effort_.whole) : kWholeReference;
    auto whole = made_up() || hopeless
                     ? Load(std::unexpected(Error{}))
                     : PartialRun::load(one_.reference, modules_.reference, one_.seed, 0, inputs_);
    if (!whole || !(*whole)->run_whole(most)) {
      if (made_up()) result_.useless = true;
      note(output, "the reference: " + why);
      if (output.chosen.empty()) return true;
    } else {
      reference_ = std::move(*whole);
      reference_gave_up_ = false;
      draw(output, effort_);
    }
  }
  const bool unclear = !missing_.empty() || (!enough() && !reference_gave_up_);
  if (unclear || candidate_->verdict() != Verdict::kOk) {
    const bool whole = run_candidate_whole(output);
    if (candidate_->verdict() != Verdict::kOk)
      return stop(candidate_->verdict(), candidate_->why());
    const auto element = [&] { return *missing_.begin() / size_of(buffer.type); };
    if (!missing_.empty() && (whole || candidate_->is_hole(output.other, *missing_.begin())))
      return stop(Verdict::kWrongResult,
                  fmt::format("{}[{}] was not written", buffer.name, element()));
    if (!missing_.empty() && !made_up())
      return stop(Verdict::kUnsupported,
                  fmt::format("which of its blocks writes {}[{}], as the reference does, could not "
                              "be found",
                              buffer.name, element()));
    if (!whole && !enough() && !reference_gave_up_) {
      const std::string why = !candidate_->why().empty()
                                  ? candidate_->why()
                                  : "which blocks write the same elements could not be found";
      // Made-up inputs may make any program run on and on.
      if (!made_up())
        return stop(
            Verdict::kUnsupported,
            fmt::format("only {} of its blocks could be compared in '{}', {} are wanted: {}",
                        blocks_, buffer.name, enough_, why));
      note(output, why);
    }
  }
  result_.whole = result_.whole || candidate_->is_whole();
  // Those that were left out would do what these do not, and nobody has timed them.
  if (!candidate_->is_whole() && drawn_by_candidate_.blocks.size() > 0 && !made_up() &&
      !reference_->is_whole()) {
    const std::uint64_t blocks = candidate_->blocks_that_write(output.other),
                        wanted = reference_->blocks_that_write(output.own);
    const auto [own, own_off] = drawn_by_reference_.all(wanted);
    const auto [all, off] = drawn_by_candidate_.all(blocks);
    const double bytes = std::min(static_cast<double>(buffer.bytes()), own - kDeviations * own_off);
    if (drawn_by_candidate_.blocks.size() >= std::min<std::uint64_t>(kLeastDrawn, blocks) &&
        drawn_by_reference_.blocks.size() >= std::min<std::uint64_t>(kLeastDrawn, wanted) &&
        all + kDeviations * off < kLeastShare * bytes)
      return stop(Verdict::kUnsupported,
                  fmt::format("its blocks do too different work for a sample of them: as {} of {} "
                              "blocks go, all would write {:.0f} % of '{}'",
                              drawn_by_candidate_.blocks.size(), blocks,
                              100 * all / static_cast<double>(buffer.bytes()), buffer.name));
  }
  result_.blocks += static_cast<std::int64_t>(blocks_);
  result_.elements += static_cast<std::int64_t>(
      bytes_in(common(reference_->made(output.own), candidate_->made(output.other))) /
      size_of(buffer.type));
  return judge(output, *candidate_, "");
}

bool Comparing::again(const std::vector<Output>& outputs) {
  const std::uint64_t schedule = question_.places | 1;
  return again_in(schedule, outputs) &&
         (!emulator::has_stores_seen_in_parts(modules_.candidate) ||
          again_in(schedule + 1, outputs));  // whose parts come the other way round
}

bool Comparing::again_in(std::uint64_t schedule, const std::vector<Output>& outputs) {
  const bool whole = candidate_->is_whole();
  const bool exchanges = !question_.by_rules && emulator::has_ordered_accesses(modules_.candidate);
  const double most = exchanges && result_.elements > 0 ? std::min(kAgainInFull, effort_.whole)
                                                        : std::min(kAgain.whole, effort_.whole);
  if (whole && question_.candidate_units > most) return true;
  auto other = PartialRun::load(*one_.candidate, modules_.candidate, one_.seed, kAgain.most,
                                inputs_, schedule);
  if (!other) return true;
  if (whole && !(*other)->run_whole(static_cast<std::uint64_t>(3 * most))) {
    if ((*other)->verdict() == Verdict::kOk) return true;
    return stop((*other)->verdict(), (*other)->why() + " (with blocks and warps in another order)");
  }
  for (const Output& output : outputs) {
    std::size_t made = 0;
    std::vector<std::uint64_t> offsets(output.chosen.begin(), output.chosen.end());
    std::ranges::shuffle(offsets, random_);
    for (const std::uint64_t offset : offsets) {
      if (whole || made >= kAgain.blocks ||
          (made >= kAgain.wanted && (*other)->spent_units() > kAgain.units))
        break;
      if ((*other)->make(output.other, offset) == Made::kMade) ++made;
    }
    if ((*other)->verdict() != Verdict::kOk)
      return stop((*other)->verdict(), (*other)->why() + " (with warps in another order)");
    if (!judge(output, **other, " (with warps in another order)")) return false;
  }
  result_.units += (*other)->spent_units();
  return true;
}

bool Comparing::called_again() {
  constexpr std::uint64_t kOtherCall = 0xA24BAED4963EE407;  // changes a seed
  if (question_.by_rules || result_.elements == 0 || !candidate_->program().wrote_variables())
    return true;
  if (candidate_->is_whole() && question_.candidate_units > kAgainInFull) return true;
  Case other = one_;
  other.seed ^= kOtherCall;
  Comparing next(other, modules_, question_);
  const bool ran = candidate_->call_again(
      other.seed, next.inputs_, static_cast<std::uint64_t>(2 * question_.candidate_units + 10e6));
  next.candidate_ = std::move(candidate_);
  constexpr std::string_view kAgainText = " (when it is called again)";
  if (!ran) {
    if (next.candidate_->verdict() == Verdict::kOk) return true;
    return stop(next.candidate_->verdict(),
                fmt::format("{}{}", next.candidate_->why(), kAgainText));
  }
  auto found = next.run();
  result_.units += found.units;
  if (found.verdict == Verdict::kOk || found.verdict == Verdict::kUnsupported) return true;
  found.detail += kAgainText;
  result_ = std::move(found);
  return false;
}

TimedComparison Comparing::run() {
  std::vector<Output> outputs;
  const double most = effort_.most;
  const bool first_call = candidate_ == nullptr;
  auto candidate =
      first_call ? PartialRun::load(*one_.candidate, modules_.candidate, one_.seed, most, inputs_)
                 : Load(std::move(candidate_));
  auto reference = PartialRun::load(one_.reference, modules_.reference, one_.seed, most, inputs_);
  if (!candidate || !reference) {
    result_.not_compared = (candidate ? reference : candidate).error().message;
    return result_;
  }
  candidate_ = std::move(*candidate);
  reference_ = std::move(*reference);
  for (const ConcreteBuffer& buffer : one_.reference.program.buffers) {
    if (!is_output(buffer.role)) continue;
    Output output{&buffer,
                  reference_->program().index_of(buffer.name),
                  candidate_->program().index_of(buffer.name),
                  {}};
    if (output.other < 0) {
      stop(Verdict::kWrongResult, fmt::format("the program has no buffer '{}'", buffer.name));
      return result_;
    }
    outputs.push_back(output);
  }
  // What a reference that counts with 32 bits does to more elements than that, nobody promised.
  for (const Output& output : outputs) {
    const std::int64_t elements = output.buffer->elements();
    if (elements <= kNumbersOf32Bits) continue;
    const auto last = static_cast<std::uint64_t>(elements - 1) * size_of(output.buffer->type);
    result_.useless = reference_->make(output.own, last) != Made::kMade;
    if (result_.useless) return result_;
  }
  // Each output has an equal part of what this may take.
  const std::size_t n = std::max<std::size_t>(1, outputs.size());
  effort_.units /= static_cast<double>(n);
  effort_.heavy /= static_cast<double>(n);
  effort_.wanted = std::max(effort_.enough, effort_.wanted / n);
  for (Output& output : outputs)
    if (!compare(output)) return result_;
  if (question_.thorough && first_call && !again(outputs)) return result_;
  result_.units += candidate_->spent_units() + reference_->spent_units();
  if (question_.thorough && first_call) (void)called_again();
  return result_;
}

}  // namespace

TimedComparison compare_timed(const Case& one, const TimedModules& modules,
                              const TimedQuestion& question) {
  return check::drawn_anew(
      one,
      [&](const Case& drawn, bool& perhaps_by_chance) {
        auto compared = Comparing(drawn, modules, question).run();
        perhaps_by_chance = compared.perhaps_by_chance;
        return compared;
      },
      [](const TimedComparison& answer) { return answer.verdict == Verdict::kOk; });
}

}  // namespace hone::runner
