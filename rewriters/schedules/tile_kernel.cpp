#include "rewriters/schedules/tile_kernel.h"

#include "rewriters/affine/neighbours.h"
#include "rewriters/schedules/printing/emit.h"
#include "rewriters/schedules/products.h"

namespace hone::schedules {

Result<Generated> kernel_of(const tile::Program& program, const Goal& goal) {
  tile::Limits limits;
  if (goal.context != nullptr) {
    limits.shared_bytes = goal.context->target.shared_per_block_optin;
    limits.compute_capability = goal.context->target.compute_capability;
  }
  if (auto ok = tile::verify(program, limits); !ok) return std::unexpected(ok.error());
  Generated generated;
  generated.source = tile::print(program);
  if (!program.views.empty()) generated.includes = {"cuda.h"};  // CUtensorMap
  GeneratedLaunch launch{.kernel = program.kernel,
                         .grid = {program.grid},
                         .block = {program.threads()},
                         .shared_bytes = program.shared_bytes()};
  for (const tile::View& view : program.views)
    launch.tensor_maps.push_back({view.buffer, tile::tensor_map(view)});
  for (const auto& parameter : program.parameters) launch.args.push_back(parameter.buffer);
  generated.launches.push_back(std::move(launch));
  return generated;
}

std::vector<tile::Beside> inputs_beside(nest::Nodes& nodes, const tile::Store& store) {
  Printer printer(nodes);
  printer.known[store.sum] = "sum";
  std::vector<tile::Beside> inputs;
  for (const Use& use : uses_of(printer, {store.value})) {
    const nest::Ref load = use.value;
    if (load->kind != nest::Node::Kind::kLoad || load == store.sum || !use.certain) continue;
    const int run = longest_run(nodes, load->args[0], store.column_symbol, load->type);
    if (run > 1) inputs.push_back({load, run});
  }
  return inputs;
}

}  // namespace hone::schedules
