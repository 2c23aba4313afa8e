#!/usr/bin/env bash
# Scaffolds an operator of PyTorch for the import: rule and kernel, its line in the list of its
# family, and a module in tests/pytorch/modules/FAMILY.py that tests/pytorch/record.py records.
#   scripts/new_operation.sh NAME FAMILY    (aten.NAME.default; operations/FAMILY.cpp, made if it lacks)
set -euo pipefail
if [[ $# -ne 2 || ! $1 =~ ^[a-z_][a-z0-9_]*$ || ! $2 =~ ^[a-z][a-z0-9_]*$ ]]; then
  echo "usage: scripts/new_operation.sh NAME FAMILY   (snake_case: 'cosh_twice hyperbolic')" >&2
  exit 2
fi
name=$1
family=$2
cd "$(dirname "$0")/.."
folder=candidates/pytorch
file=$folder/operations/$family.cpp
modules=tests/pytorch/modules/$family.py
if grep -rqF "\"aten.$name.default\"" "$folder/operations"; then
  echo "new_operation.sh: aten.$name.default is there already" >&2
  exit 1
fi

if [[ ! -e $file ]]; then
  cat > "$file" <<END
// TODO: one line on what these operators do.
#include <fmt/format.h>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/refusal.h"

namespace hone::pytorch {
namespace $family {
namespace {

constexpr Operation kOperations[] = {
};

}  // namespace
}  // namespace $family

std::span<const Operation> ${family}_operations() { return $family::kOperations; }

}  // namespace hone::pytorch
END
  last=$(grep -n '^std::span<const Operation> .*_operations();$' "$folder/operations.h" | tail -1 | cut -d: -f1)
  sed -i "${last}a std::span<const Operation> ${family}_operations();" "$folder/operations.h"
  sed -i -z "s|\n};\n\n}  // namespace\n\nconst Operation\* find|\n    ${family}_operations,&|" "$folder/operations.cpp"
fi
if ! grep -q '^constexpr Operation kOperations\[\] = {' "$file"; then
  echo "new_operation.sh: $file keeps its operators in another way: read it, and write the line by hand" >&2
  exit 1
fi

rule=$(cat <<END
/// TODO: what it computes of which arguments.
void $name(Call\& call) {
  const Tensor from = call.tensor("self");
  const Tensor result = call.make(from.shape);
  Kernel kernel(call.to, "$name", "");
  const auto x = kernel.in("x", from);
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  // TODO: the element; this copies it.
  kernel.store(y, at, stored_as(result.type, kernel.load(x, at)));
  kernel.launch();
}

END
)
rule=${rule//$'\n'/\\n}
sed -i "s|^constexpr Operation kOperations\[\] = {|$rule\n\n&\n    {\"aten.$name.default\", $name},|" "$file"

if [[ ! -e $modules ]]; then
  printf '"""TODO: one line on what these operators do."""\nfrom modules.helpers import aten, fixture, of, rand\n' > "$modules"
fi
for word in aten of rand fixture; do  # what the module below needs
  grep -q "^from modules.helpers import .*\b$word\b" "$modules" ||
    sed -i "s/^from modules.helpers import /&$word, /" "$modules"
done
cat >> "$modules" <<END


@fixture
def $name():
    x = rand(3, 5)
    return of([lambda x: aten.$name(x), lambda x: aten.$name(x.half())], x)
END
echo "Made a rule in $file, its line there, and a module in $modules."
echo "Next: write the rule, then tests/pytorch/record.py $name (with PyTorch) and build/release/bin/pytorch_tests."
