// One variant that somebody wrote, or took out of an export, through every gate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "candidates/variant.h"
#include "engine/search/search.h"
#include "engine/search/strategy/space.h"

namespace hone {

/// A variant's program at the timed sizes, and the recipe that gives it at others; with an empty
/// recipe the same text serves all sizes.
struct VariantProgram {
  Program program;
  Recipe recipe;
  /// The text was made for the timed sizes, and nothing says what it is at others: it may be wrong
  /// there and right where it is for.
  bool timed_sizes_only = false;
};

/// Of an export that nobody has edited the very candidate, or the reference; of an edited one its
/// recipe and the edits as a last step, or, where that does not give the edited text (`notes` says
/// so), the text alone. `timed` is the space at the timed sizes. Errors: kInvalidInput, the text is
/// more than a child bears; kInfrastructure.
[[nodiscard]] Result<VariantProgram> program_of_variant(const Variant& variant, const Task& task,
                                                        Rewriting& rewriting, Space& timed,
                                                        std::vector<std::string>& notes);

/// Its id is the store's, where there is one; `store` may be null. `notes` gets what the admission
/// of the task says. Errors: those of admission and of program_of_variant().
[[nodiscard]] Result<Finalist> run_variant(const Task& task, const Variant& variant,
                                           const DeviceSpec& device, Evaluator& evaluator,
                                           Rewriting& rewriting, Store* store, std::uint64_t seed,
                                           std::vector<std::string>& notes);

}  // namespace hone
