// What most rules need: a program read and analysed, and its source edited with the result parsed
// again. A ReadProgram keeps pointers into the program it was made from; keep that alive.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "candidates/program.h"
#include "candidates/result.h"
#include "rewriters/syntax/analysis.h"
#include "rewriters/syntax/edit.h"

namespace hone {

struct ReadProgram {
  const Program* program = nullptr;
  std::shared_ptr<const syntax::TranslationUnit> unit;
  std::vector<syntax::KernelInfo> kernels;  ///< one per launched kernel

  [[nodiscard]] const syntax::KernelInfo* find(std::string_view kernel) const;
};

/// Errors: kRefused, the program does not parse or launches a kernel that is not there.
[[nodiscard]] Result<ReadProgram> read_program(const Program& program);

/// The program with the edits made. Errors: kRefused when an edit touches macro text, edits
/// overlap, or the new source does not parse.
[[nodiscard]] Result<Program> edited(const ReadProgram& read, const syntax::Edits& edits);

/// The same, but nobody has made sure that it parses: for what Rewriter::apply returns, as
/// apply_step() asks that where it matters.
[[nodiscard]] Result<Program> edited_unparsed(const ReadProgram& read, const syntax::Edits& edits);

}  // namespace hone
