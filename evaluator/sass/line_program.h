// DWARF 2 line programs, in the form in which ptxas says which PTX line an instruction came of
// (section .nv_debug_line_sass). Bytes that are no such program end the reading; nothing throws.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "evaluator/sass/cubin.h"

namespace hone::sass {

/// The rows of one function.
struct LineSequence {
  struct Row {
    std::uint64_t address = 0;  // in the function [B]
    std::uint32_t line = 0;
  };
  std::uint64_t address_at = 0;  ///< where in the program the function's address stands: a
                                 ///< relocation there names the function
  std::vector<Row> rows;         ///< ascending addresses
};

[[nodiscard]] std::vector<LineSequence> read_line_program(std::string_view bytes);

/// One for each of `instructions`.
[[nodiscard]] std::vector<PtxLine> lines_of(const LineSequence& sequence, std::size_t instructions);

}  // namespace hone::sass
