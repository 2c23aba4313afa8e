#include "rewriters/rules/cooperative/regroup.h"

#include <fmt/format.h>

namespace hone::rules::coop {

void rederive(Patch& patch, const ThreadIndex& index, const Dim3& block, const std::string& group,
              const std::string& grid_x) {
  const auto [bx, by, bz] = block;
  const auto total = bx * by * bz;
  const bool flat = by * bz == 1;
  const auto modulo = [](const std::string& value, std::int64_t extent) {
    return extent == 1 ? std::string("0u") : fmt::format("{} % {}", value, extent);
  };
  const std::string in_block = flat ? group : fmt::format("{} % {}", group, total);
  const std::string thread[3] = {fmt::format("({})", modulo(group, bx)),
                                 by == 1 ? "0u" : fmt::format("({} / {} % {})", in_block, bx, by),
                                 bz == 1 ? "0u" : fmt::format("({} / {})", in_block, bx * by)};
  const std::string block_x = total == 1 ? group : fmt::format("({} / {})", group, total);
  const std::string global[3] = {
      flat ? group : fmt::format("({} * {} + {})", block_x, bx, thread[0]),
      fmt::format("(blockIdx.y * {} + {})", by, thread[1]),
      fmt::format("(blockIdx.z * {} + {})", bz, thread[2])};
  for (std::size_t d = 0; d < 3; ++d) {
    for (const syntax::Expr* sum : index.global[d]) {
      const bool widened = sum->type.name != "unsigned int" && !sum->type.name.empty();
      patch.replace(sum->range, widened
                                    ? fmt::format("static_cast<{}>({})", sum->type.name, global[d])
                                    : global[d]);
    }
  }
  for (const syntax::Expr* use : index.rest) {
    const std::string& text = use->text;
    if (text == "threadIdx.x") patch.replace(use->range, thread[0]);
    if (text == "threadIdx.y") patch.replace(use->range, thread[1]);
    if (text == "threadIdx.z") patch.replace(use->range, thread[2]);
    if (text == "blockIdx.x") patch.replace(use->range, block_x);
    if (text == "blockDim.x") patch.replace(use->range, fmt::format("{}u", bx));
    if (text == "blockDim.y") patch.replace(use->range, fmt::format("{}u", by));
    if (text == "blockDim.z") patch.replace(use->range, fmt::format("{}u", bz));
    if (text == "gridDim.x") patch.replace(use->range, grid_x);
  }
}

}  // namespace hone::rules::coop
