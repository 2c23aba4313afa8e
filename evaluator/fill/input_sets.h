// Inputs that a task does not ask for but allows: what is right on random numbers only shows.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "candidates/program.h"

namespace hone {

/// How the inputs of one check are filled. Each set varies floating inputs, or integer ones, or
/// constants, or sequences, and leaves the others and files as they are. All but kFar stay within
/// the values that the task's own fill may give; an integer input without a fill may have any value
/// of its type.
enum class InputSet {
  kOwn,  ///< as the task says
  // Floating inputs with a uniform or normal fill.
  kTails,      ///< most values near zero, a few large: what skips or rescales a part shows
  kEither,     ///< the two ends: what depends on signs or on the mean alone shows
  kEdges,      ///< the ends, the middle, 0, 1, -1, the tiniest
  kMultiples,  ///< small multiples of powers of two, one buffer's of fourteen bits: a product or a
               ///< sum is exact in f32 and not with fewer bits
  kSmall,      ///< a thousandth of the range, near zero or the low end: what was added shows
  kFar,        ///< where the fill has negative values: one buffer far below it and wide, the others
               ///< above, so that what overflows unless a maximum is taken off shows
  // Integer inputs with a fill of random integers, or none. Those without one stay in the default
  // range but where it says otherwise, as they may be indices.
  kEqual,    ///< one value everywhere: counters overflow, everything is a tie
  kTwo,      ///< the two ends: many ties, and the largest differences
  kRising,   ///< sorted rows
  kFalling,  ///< sorted the other way
  kRuns,     ///< long runs of equal values: counts of repetitions overflow
  kLimits,   ///< the ends, their neighbours, powers of two; where there is no fill, for one buffer
             ///< those of the whole type
  kWhole,    ///< random values of the whole type where there is no fill
  // Floating inputs, integers and bools with a constant fill.
  kConstants,  ///< random values around the constant: an input that was left out shows; integers
               ///< other than 0 and 1, which may be an extent, grow no further from 0 and keep most
               ///< factors of two
  // Sorted rows, permutations, one-hot rows and triangles; ends, order and promise are kept.
  kCurves,   ///< along a power curve; the permutation that moves nothing; all ones first; triangles
             ///< whose every unknown hangs on the one before
  kJumps,    ///< flat runs and a few jumps; the other way round; all ones last; triangles whose
             ///< every unknown hangs on some one before
  kOneStep,  ///< one step is half the way: a row holds half of all; neighbours exchanged; all ones
             ///< at one place
  kOneEnd,   ///< all at one end; moved on by some places; ones along the diagonal
  // Floating inputs again, for tasks of which it says something.
  kWide,  ///< where there are several: one buffer's have nearly all bits of f32, the others are a
          ///< power of two at few places, so that sums are exact: what has fewer bits shows
  kTies,  ///< where math is exact and an output has 16 bits: sums between two of its numbers, of
          ///< which the first terms swallow the others: another order shows
  // Integer inputs again.
  kAlike,  ///< keys that agree in their low bits, their high ones, or the exclusive or or the sum
           ///< of both: what compares fewer bits takes them for equal
  // Sets of several forms, of which the seed chooses one: forms_of().
  kRelated,          ///< floats of one buffer are those of another, perhaps but for the last bits,
                     ///< mirrored in the middle of the range, those of other rows, both with one
                     ///< period, or multiples of the other's; see relations.h
  kPatterns,         ///< many equal rows, periods along the row, high and low in turns, tiny values
                     ///< alone, of which the squares may be 0 or denormal, a narrow range away
                     ///< from zero, rows that are 0 or at an end but for a few elements or more
  kRelatedIntegers,  ///< the first, of integers: all differences or all sums are equal, or all but
                     ///< one of a row
  kPatternsOfIntegers,  ///< equal rows, periods, high and low in turns, sequences of equal steps,
                        ///< rows that are equal but for a few elements
  kSequences,           ///< in place of a sequence of the task: other steps, or another order
  kStrided,  ///< floats: the higher half of the range at equal distances alone, all of which may
             ///< fall to one thread; every second row rises, falls, is smooth or has one hump
  kStridedIntegers,  ///< the same of integers
};
inline constexpr InputSet kAllInputSets[] = {InputSet::kOwn,
                                             InputSet::kTails,
                                             InputSet::kEither,
                                             InputSet::kEdges,
                                             InputSet::kMultiples,
                                             InputSet::kSmall,
                                             InputSet::kFar,
                                             InputSet::kEqual,
                                             InputSet::kTwo,
                                             InputSet::kRising,
                                             InputSet::kFalling,
                                             InputSet::kRuns,
                                             InputSet::kLimits,
                                             InputSet::kWhole,
                                             InputSet::kConstants,
                                             InputSet::kCurves,
                                             InputSet::kJumps,
                                             InputSet::kOneStep,
                                             InputSet::kOneEnd,
                                             InputSet::kWide,
                                             InputSet::kTies,
                                             InputSet::kAlike,
                                             InputSet::kRelated,
                                             InputSet::kPatterns,
                                             InputSet::kRelatedIntegers,
                                             InputSet::kPatternsOfIntegers,
                                             InputSet::kSequences,
                                             InputSet::kStrided,
                                             InputSet::kStridedIntegers};

/// How many forms a set has: as many seeds, one after the other, choose each of them once.
[[nodiscard]] int forms_of(InputSet set);

/// A seed like `seed` with which kPatterns has tiny values alone, where the fill has 0 in
/// its range.
[[nodiscard]] std::uint64_t seed_of_tiny_values(std::uint64_t seed);

[[nodiscard]] std::string_view to_string(InputSet set);

/// The program with the fills of the set; `seed` chooses the buffer with the most bits, the one
/// below, the one that has the ends of its whole type, and where ties are.
[[nodiscard]] ConcreteProgram with_inputs(ConcreteProgram program, InputSet set,
                                          std::uint64_t seed);

/// The program with its random inputs of f32 and f64 rounded to bf16. None: it has no such input,
/// or another floating input or output has fewer bits.
[[nodiscard]] std::optional<ConcreteProgram> with_coarse_inputs(ConcreteProgram program);

/// The program with its inputs of f32 rounded to TF32: what is left of them in a product of
/// MathLevel::kTf32. Beside two inputs of several dimensions not those of one, such as a bias. Of a
/// program in double (check::in_double) likewise. None: it has no such input.
[[nodiscard]] std::optional<ConcreteProgram> with_tf32_inputs(ConcreteProgram program);

/// kOwn, then the sets that change a fill of this program with some seed.
[[nodiscard]] std::vector<InputSet> input_sets_of(const ConcreteProgram& program);

/// Sets on which what f32 computes without error must come without error. Integers are so
/// whatever they are, where nothing else varies.
[[nodiscard]] inline bool has_exact_answers(InputSet set) {
  return set == InputSet::kMultiples || set == InputSet::kWide || set == InputSet::kAlike ||
         set == InputSet::kRelatedIntegers || set == InputSet::kPatternsOfIntegers ||
         set == InputSet::kStridedIntegers || (set > InputSet::kEqual && set <= InputSet::kWhole);
}

/// Whether with_inputs() of this set and seed has made some inputs of `program` so small that their
/// products have few bits. What is right then only the reference in double says, and only of a
/// program that computes with all bits of f32.
[[nodiscard]] bool rounds_products(const ConcreteProgram& program, InputSet set,
                                   std::uint64_t seed);

/// Whether one thread may have all the work that else is spread over many: a row of a sparse matrix
/// that holds half of it. At a large size that takes as long as it likes.
[[nodiscard]] bool gathers_work(const ConcreteProgram& program, InputSet set);

/// Whether a set can show at a large size what it does not show at a small one: where one lost
/// element of many counts, or how often a value comes.
[[nodiscard]] bool depends_on_size(InputSet set);

}  // namespace hone
