#include "engine/results/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "rewriters/core/registry.h"
#include "rewriters/llm/model_steps.h"

namespace hone::results {

std::string in_words(const Step& step) {
  const Rewriter* rewriter = find_rewriter(step.rewriter);
  if (rewriter == nullptr) return "";
  // A summary says what becomes of what, and then when that is legal.
  const std::string summary(rewriter->summary());
  std::size_t end = summary.find(';');
  for (const char* legal : {", legal", ", always legal"}) end = std::min(end, summary.find(legal));
  return summary.substr(0, end);
}

std::string_view in_words(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "It compiled, passed the checks of its stage and was timed. One that is much slower "
             "than the best is checked at the timed size alone.";
    case Verdict::kRefused:
      return "A step could not be made again, or the source holds what is not accepted.";
    case Verdict::kCompileError:
      return "The compiler refused the source.";
    case Verdict::kLaunchError:
      return "A launch was refused: too many threads or too much shared memory, for example.";
    case Verdict::kFault:
      return "It read or wrote outside of a buffer, read memory that nobody had written, or broke "
             "off.";
    case Verdict::kRace:
      return "Two threads used the same memory without an order between them.";
    case Verdict::kWrongResult:
      return "Its outputs differ from the reference's by more than the tolerance.";
    case Verdict::kTampering:
      return "It wrote an input, or it was faster than the hardware can be.";
    case Verdict::kTimeout:
      return "It ran far longer than the reference.";
    case Verdict::kCrash:
      return "The process that ran it died.";
    case Verdict::kUnsupported:
      return "It uses something that the emulator does not have; the candidate's page names it.";
    case Verdict::kSlower:
      return "It ran far longer than the best known and was ended; whether it is right was not "
             "found out.";
  }
  return "";
}

std::string_view in_words(MathLevel level) {
  switch (level) {
    case MathLevel::kExact:
      return "the same bits as the reference";
    case MathLevel::kReassociate:
      return "sums and products in another order";
    case MathLevel::kTf32x3:
      return "tensor cores with three TF32 products for one of f32, as precise as f32";
    case MathLevel::kTf32:
      return "operands of products rounded to TF32, sums in f32";
    case MathLevel::kReduced:
      return "fewer bits, such as f16 or bf16, within the tolerance";
  }
  return "";
}

std::string why_unlike(const Recipe& recipe) {
  // The last one: what came before it is gone.
  for (const Step& step : recipe | std::views::reverse) {
    if (step.rewriter == kModelCode) return "A language model wrote this program whole.";
    if (step.rewriter.starts_with("generate-"))
      return fmt::format(
          "The step {} writes a kernel of its own instead of editing the reference's.",
          step.rewriter);
  }
  return "";
}

Doubt doubt_of(const Evaluation& evaluation) {
  if (evaluation.verdict != Verdict::kOk) return {};
  if (evaluation.outpaced) {
    return {
        "not checked at other sizes", "unchecked",
        "It was timed, and right at the timed size. It was not checked at the check sizes, where "
        "the emulator looks at every access: it is much slower than the best, or the search "
        "ended."};
  }
  // So begin the notes of results of which something was compared there, or nothing after all.
  constexpr std::string_view kCompared = "compared at the timed size: ";
  constexpr std::string_view kNothing = "compared at the timed size: 0 elements, by 0 blocks";
  const std::string& note = evaluation.note;
  if (note.contains(kNotComparedAtTimed)) {
    if (note.starts_with(kCompared) && !note.starts_with(kNothing))
      return {"partly compared at the timed size", "partly compared",
              "At the timed size an output was left out of the comparison with the reference, or "
              "compared at fewer places than planned; the note says why."};
    return {kNotComparedAtTimed, "not compared",
            "At the timed size no output was compared with the reference's; the note says why. The "
            "outputs at the check sizes were."};
  }
  if (!evaluation.final_stage)
    return {
        "quick stage only",
        "The final stage has not seen this candidate. It repeats every check in fresh processes, "
        "on further inputs, and compares the outputs at the timed size."};
  return {};
}

}  // namespace hone::results
