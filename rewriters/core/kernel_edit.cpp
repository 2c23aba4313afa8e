#include "rewriters/core/kernel_edit.h"

#include <fmt/format.h>

#include "rewriters/syntax/parse.h"

namespace hone {

const syntax::KernelInfo* ReadProgram::find(std::string_view kernel) const {
  for (const syntax::KernelInfo& info : kernels) {
    if (info.function->name == kernel) return &info;
  }
  return nullptr;
}

Result<ReadProgram> read_program(const Program& program) {
  ReadProgram read;
  read.program = &program;
  auto unit = syntax::parse(program);
  if (!unit) return refused("the source does not parse: " + unit.error().message);
  read.unit = *unit;
  auto kernels = syntax::analyse(*read.unit, program);
  if (!kernels) return refused(kernels.error().message);
  read.kernels = std::move(*kernels);
  return read;
}

Result<Program> edited_unparsed(const ReadProgram& read, const syntax::Edits& edits) {
  auto source = edits.apply();
  if (!source) return std::unexpected(source.error());
  Program result = *read.program;
  result.source = std::move(*source);
  return result;
}

Result<Program> edited(const ReadProgram& read, const syntax::Edits& edits) {
  auto result = edited_unparsed(read, edits);
  if (!result) return result;
  if (auto unit = syntax::parse(*result); !unit) {
    return refused("the rewritten source does not parse: " + unit.error().message);
  }
  return result;
}

}  // namespace hone
