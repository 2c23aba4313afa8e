#include "rewriters/tile/share_text.h"

#include "rewriters/schedules/printing/text.h"

namespace hone::tile {

std::vector<std::string> names_in_share_sums() {
  return {"sent", "consumed", "share_parity", "mine", "rank", "got", "total", "from"};
}

std::string share_sums(const Program& program, const ShareSums& share, const ShareCall& call) {
  const Staging& staging = program.stagings[static_cast<std::size_t>(share.staging)];
  const int columns = program.sums[static_cast<std::size_t>(share.sums)].columns;
  const int own = columns / program.cluster;
  return schedules::filled(
      R"(// Each block writes its sums, and adds up all blocks' of its $columns columns.
float* const mine = $staging + $group * $elements + threadIdx.x % 128 * 4;
$prefixwait_cluster(consumed, share_parity ^ 1);
#pragma unroll
for (int j = 0; j < $groups; ++j)
  *reinterpret_cast<float4*>(&mine[j * 512]) =
      make_float4($sums[j * 4], $sums[j * 4 + 1], $sums[j * 4 + 2], $sums[j * 4 + 3]);
$prefixmeet_group();
if (threadIdx.x % 128 < $blocks) $prefixarrive_cluster(sent, threadIdx.x % 128);
$prefixwait_cluster(sent, share_parity);
const float* const from = mine + blockIdx.x % $blocks * $own * 512;
#pragma unroll
for (int j = 0; j < $own; ++j) {
  float4 total = {0.0f, 0.0f, 0.0f, 0.0f};
  #pragma unroll
  for (int rank = 0; rank < $blocks; ++rank) {
    const float4 got = $prefixread_from(&from[j * 512], rank);
    total.x += got.x, total.y += got.y, total.z += got.z, total.w += got.w;
  }
  $shared[j * 4] = total.x, $shared[j * 4 + 1] = total.y;
  $shared[j * 4 + 2] = total.z, $shared[j * 4 + 3] = total.w;
}
$prefixmeet_group();
if (threadIdx.x % 128 < $blocks) $prefixarrive_cluster(consumed, threadIdx.x % 128);
share_parity ^= 1;
)",
      {{"prefix", program.prefix},
       {"staging", call.staging},
       {"group", call.group},
       {"elements", std::to_string(staging.tile.layout.elements())},
       {"columns", std::to_string(own)},
       {"groups", std::to_string(columns / 8)},
       {"own", std::to_string(own / 8)},
       {"blocks", std::to_string(program.cluster)},
       {"sums", call.sums},
       {"shared", call.shared}});
}

}  // namespace hone::tile
