#!/usr/bin/env bash
# Scaffolds a rule: header, source, registry line, a golden case and a refusal.
#   scripts/new_rewriter.sh my-rule
set -euo pipefail
if [[ $# -ne 1 || ! $1 =~ ^[a-z][a-z0-9]*(-[a-z0-9]+)*$ ]]; then
  echo "usage: scripts/new_rewriter.sh my-rule   (kebab-case)" >&2
  exit 2
fi
name=$1
snake=${name//-/_}
camel=$(echo "$name" | sed -E 's/(^|-)([a-z0-9])/\U\2/g')
cd "$(dirname "$0")/.."
rules=rewriters/rules
golden=tests/golden/$name
if [[ -e $rules/$snake.h || -e $golden ]]; then
  echo "new_rewriter.sh: '$name' is there already" >&2
  exit 1
fi

cat > "$rules/$snake.h" <<END
// TODO: one line on what the rule does.
//   before  =>  after
// legal when …
#pragma once

#include <memory>

#include "rewriters/core/rewriter.h"

namespace hone {

[[nodiscard]] std::unique_ptr<Rewriter> make_$snake();

}  // namespace hone
END

cat > "$rules/$snake.cpp" <<END
#include "rewriters/rules/$snake.h"

#include <fmt/format.h>

#include "rewriters/core/kernel_edit.h"

namespace hone {
namespace {

using syntax::KernelInfo;

class $camel final : public Rewriter {
 public:
  std::string_view name() const override { return "$name"; }
  std::string_view summary() const override { return "before => after; legal when ..."; }

  std::vector<Proposal> propose(const Program& program,
                                const RewriteContext& context) const override {
    std::vector<Proposal> proposals;
    const auto read = read_program(program);
    if (!read) return proposals;
    for (const KernelInfo& kernel : read->kernels) {
      if (!rewritten(*read, kernel, context)) continue;
      Proposal& proposal = proposals.emplace_back();
      proposal.rewriter = name();
      proposal.site = kernel.function->name;
      proposal.description = fmt::format("$name on '{}'", kernel.function->name);
    }
    return proposals;
  }

  Result<Program> apply(const Program& program, const Step& step,
                        const RewriteContext& context) const override {
    const auto read = read_program(program);
    if (!read) return std::unexpected(read.error());
    const KernelInfo* kernel = read->find(step.site);
    if (kernel == nullptr) return refused(fmt::format("no kernel '{}' is launched", step.site));
    return rewritten(*read, *kernel, context);
  }

 private:
  static Result<Program> rewritten(const ReadProgram& read, const KernelInfo& kernel,
                                   const RewriteContext&) {
    if (kernel.has_unknown) return refused("the kernel calls what cannot be seen through");
    syntax::Edits edits(*read.unit);
    // TODO: prove that the rewrite is legal, then edit.
    if (edits.empty()) return refused("nothing to do");
    return edited(read, edits);
  }
};

}  // namespace

std::unique_ptr<Rewriter> make_$snake() { return std::make_unique<$camel>(); }

}  // namespace hone
END

mkdir -p "$golden"
task='/* hone
{ "name": "f", "sizes": {"N": 4096}, "check_sizes": [{"N": 100}],
  "buffers": [{"name": "X", "type": "f32", "shape": ["N"], "role": "inout"}],
  "launches": [{"kernel": "f", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["X", "N"]}] }
*/
__global__ void f(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = 2.0f * x[i];
}'
printf '%s\n' "$task" > "$golden/simple.cu"
printf '{"site": "f", "params": {}}\n' > "$golden/simple.step.json"
printf '// TODO: why the rule must not fire here.\n%s\n' "$task" > "$golden/never.refuse.cu"

registry=rewriters/core/registry.cpp
sed -i "s|^// INCLUDES END|#include \"rewriters/rules/$snake.h\"\n// INCLUDES END|" "$registry"
sed -i "s|^\( *\)// RULES END|\1owned.push_back(make_$snake());\n\1// RULES END|" "$registry"
echo "Made $rules/$snake.{h,cpp}, $golden/ and a line in $registry."
echo "Next: write the rule, then HONE_UPDATE_GOLDEN=1 build/release/bin/golden_tests and read the result."
