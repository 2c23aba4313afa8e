#include "rewriters/schedules/contract/schedule.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

#include "rewriters/affine/integers.h"
#include "rewriters/schedules/contract/hopper.h"
#include "rewriters/schedules/contract/tile.h"
#include "rewriters/schedules/products.h"
#include "rewriters/schedules/space.h"

namespace hone::schedules::contract {
namespace {

int power_below(std::int64_t value) {
  int power = 1;
  while (power < 1 << 30 && power * 2 <= value) power *= 2;
  return power;
}

void repair_fma(Schedule& s, const Contraction& c) {
  const ScalarType type = sum_type(c, s.pipe);
  const int vector = type == ScalarType::kF64 ? 2 : 4;
  s.bk = std::min(s.bk, 32);
  s.tm = std::clamp(s.tm, vector, 16);
  s.tn = std::clamp(s.tn, vector, 16);
  if (type == ScalarType::kF64) s.tm = std::min(s.tm, 8), s.tn = std::min(s.tn, 8);
  const int most = adds_in_runs(c, s.pipe) ? 64 : 128;
  if (s.tm * s.tn > most) s.tm = std::max(vector, most / s.tn);
  if (s.tm * s.tn > most) s.tn = most / s.tm;
  // A warp's lanes are 4 rows by 8 columns of threads.
  while (s.bm / s.tm < 4 && s.tm > vector) s.tm /= 2;
  while (s.bn / s.tn < 8 && s.tn > vector) s.tn /= 2;
  s.bm = std::max(s.bm, 4 * s.tm);
  s.bn = std::max(s.bn, 8 * s.tn);
  // Registers: the sums, two sets of operands and some for addresses, of 65536 a block.
  const auto fits = [&] {
    const int registers = registers_of_fma(c, s) + 32;
    return s.threads() <= 512 && s.threads() * registers <= 65536;
  };
  while (!fits() && (s.tm < 8 || s.tn < 8)) (s.tm <= s.tn ? s.tm : s.tn) *= 2;
  while (!fits()) (s.bm > s.bn ? s.bm : s.bn) /= 2;
  s.bm = std::max(s.bm, 4 * s.tm);
  s.bn = std::max(s.bn, 8 * s.tn);
  // All of a tile's multiply-adds are written out: at most 2048, which the instruction cache holds.
  while (s.bk > 8 && s.tm * s.tn * s.bk > 2048) s.bk /= 2;
}

void repair_mma(Schedule& s, const Contraction& c) {
  s.bm = std::max(s.bm, 16);
  s.bn = std::max(s.bn, 16);
  const bool narrow = s.pipe == Pipe::kTf32 || s.pipe == Pipe::kTf32x3;
  s.bk = narrow ? std::clamp(s.bk, 16, 32) : std::clamp(s.bk, 32, 64);
  if (s.pipe == Pipe::kMma && has_fp8(c)) s.bk *= 2;
  s.wm = std::min({s.wm, s.bm, 64});
  s.wn = std::min({s.wn, s.bn, 64});
  // Three products keep two sums and both halves of the operands: 64 x 32 at most.
  const int words = words_of_sum(c, s.pipe);
  const int most = words == 2 ? 64 * 32 : 64 * 64;
  while (s.wm * s.wn > most) (s.wn >= s.wm ? s.wn : s.wm) /= 2;
  while (s.threads() < 128 && s.wm * s.wn > 16 * 16) (s.wm >= s.wn ? s.wm : s.wn) /= 2;
  const auto fits = [&] {
    const int sums = s.wm * s.wn / 32 * words;
    return s.threads() <= 512 && s.threads() * (sums + 80) <= 65536;
  };
  while (!fits() && s.wm * s.wn < most && (s.wm < s.bm || s.wn < s.bn)) {
    if (s.wm < s.bm && (s.wm <= s.wn || s.wn == s.bn)) {
      s.wm *= 2;
    } else {
      s.wn *= 2;
    }
  }
  while (!fits()) {
    (s.bm > s.bn ? s.bm : s.bn) /= 2;
    s.wm = std::min(s.wm, s.bm);
    s.wn = std::min(s.wn, s.bn);
  }
}

// Columns of a tile whose sums are added up in short runs: 64 x 192 of a warp group are the most
// whose sums its registers hold twice. Of shared memory, which has 128 bytes a cycle, the tensor
// cores and copies of 128 x 128 tiles take 156 at full speed, those of 128 x 192 tiles 135.
constexpr int kShortRunColumns = 192;

bool has_short_run_columns(const Contraction& c, Pipe pipe) {
  return is_bulk(pipe) && adds_in_short_runs(c, pipe);
}

void repair_wgmma_bulk(Schedule& s, const Contraction& c) {
  s.bk = 128 / static_cast<int>(size_of(way_of(c, s.pipe)->a.type));
  s.bm = std::clamp(s.bm, 64, 256);
  // 64 rows for each warp group, and its sums in what registers there are.
  const bool two_sets = words_of_sum(c, s.pipe) == 2;
  if (two_sets) s.bm = std::min(s.bm, 128);
  const int most = has_short_run_columns(c, s.pipe) ? kShortRunColumns
                   : s.bm == 256 || two_sets        ? 128
                                                    : 256;
  s.bn = std::clamp(s.bn, 64, most);
  s.wm = 64;
  s.wn = s.bn;
  s.tail = 1;
  // Each block copies 64 columns of B at least, and has rows of its own.
  while (s.cluster > 1 && (s.bn < 64 * s.cluster || c.m_size <= s.bm * (s.cluster / 2)))
    s.cluster /= 2;
}

void repair_bulk_tf32(Schedule& s, const Contraction& c) {
  s.bk = 32;
  const bool two_sets = words_of_sum(c, s.pipe) == 2, bare = s.pipe == Pipe::kBulkTf32;
  s.bm = std::clamp(s.bm, 64, bare && !two_sets ? 256 : 128);
  if (uses_patches(c, s.pipe)) {
    while (s.bm > 64 && !tiling_of(*c.patches, s.bm)) s.bm /= 2;
    // Boxes are not divided.
    while (s.split_k > 1 && s.split_k > tiling_of(*c.patches, s.bm)->steps) s.split_k /= 2;
  }
  // 512 threads: the compiler has 128 registers for an instruction and its sums.
  s.bn = std::clamp(s.bn, 32, !bare || two_sets || s.bm == 256 ? 128 : 256);
  s.wm = 64;
  s.wn = s.bn;
  s.tail = s.cluster = 1;
}

void repair(Schedule& s, const Contraction& c, std::int64_t most_shared) {
  switch (s.pipe) {
    case Pipe::kFma:
    case Pipe::kFmaRuns:
      repair_fma(s, c);
      break;
    case Pipe::kWgmmaBulk:
    case Pipe::kWgmmaBf16:
    case Pipe::kWgmmaFast:
      repair_wgmma_bulk(s, c);
      break;
    case Pipe::kBulkTf32x3:
    case Pipe::kBulkTf32:
      repair_bulk_tf32(s, c);
      break;
    default:
      repair_mma(s, c);
  }
  if (!is_bulk(s.pipe)) s.cluster = 1;
  s.pack_a = s.pack_a && is_bulk(s.pipe) && way_of(c, s.pipe)->a.may_pack;
  s.pack_b = s.pack_b && is_bulk(s.pipe) && way_of(c, s.pipe)->b.may_pack;
  s.share_by_cluster = s.share_by_cluster && s.split_k > 1 && is_bulk(s.pipe) &&
                       !is_bulk_tf32(s.pipe) && !adds_in_runs(c, s.pipe);
  // Each block adds up eight columns at least.
  if (s.share_by_cluster) {
    s.split_k = std::min(s.split_k, std::min(8, s.bn / 8));
    s.cluster = 1;
  }
  // Slices of a tile at least, and their sums in what any device has to spare.
  const double sums = static_cast<double>(c.batch_size) * c.m_size * c.n_size *
                      static_cast<double>(size_of(c.total_type));
  if (s.split_k > 1 || c.k_size / s.tail < s.bk) s.tail = 1;
  const double in_scratch = s.share_by_cluster ? 0 : sums;
  while (s.split_k > 1 && (c.k_size / s.split_k < s.bk || in_scratch * s.split_k > 512e6))
    s.split_k /= 2;
  s.share_by_cluster = s.share_by_cluster && s.split_k > 1;
  while (s.stages > 2 && shared_bytes(c, s) > most_shared) --s.stages;
  while (is_fma(s.pipe) && s.bk > 8 && shared_bytes(c, s) > most_shared) s.bk /= 2;
}

}  // namespace

int words_of_sum(const Contraction& c, Pipe pipe) {
  const bool two =
      sum_type(c, pipe) == ScalarType::kF64 || adds_in_runs(c, pipe) || adds_in_short_runs(c, pipe);
  return two || is_thrice(pipe) ? 2 : 1;
}

int registers_of_fma(const Contraction& c, const Schedule& s) {
  const int words = sum_type(c, s.pipe) == ScalarType::kF64 ? 2 : 1;
  return words_of_sum(c, s.pipe) * s.tm * s.tn + words * 2 * (s.tm + s.tn);
}

int tiles_of_run(const Schedule& s) {
  // Tensor cores cut off what they do not round: less is added up of f32.
  const int terms = is_thrice(s.pipe) ? 64 : 256;
  return std::max(1, terms / s.bk);
}

int cluster_of(const Schedule& s) { return s.share_by_cluster ? s.split_k : s.cluster; }

int sms_for_clusters(const Goal& goal, int cluster) {
  const int all = sm_count(goal);
  return cluster <= 2 ? all : std::max(std::min(all, cluster), all * 10 / 11 / cluster * cluster);
}

std::int64_t shared_limit(const Goal& goal) {
  return goal.context == nullptr ? 227 * 1024 : goal.context->target.shared_per_block_optin;
}

int sm_count(const Goal& goal) {
  return goal.context == nullptr ? 132 : std::max(1, goal.context->target.sm_count);
}

int Schedule::threads() const {
  if (is_fma(pipe)) return bm / tm * (bn / tn);
  if (is_bulk(pipe)) return bm / wm * 128 + (pipe == Pipe::kBulkTf32x3 ? 256 : 128);
  return bm / wm * (bn / wn) * 32;
}

std::int64_t shared_bytes(const Contraction& c, const Schedule& schedule) {
  if (is_bulk(schedule.pipe)) return bulk_bytes(c, schedule);
  const std::int64_t a = tile_of(c, c.a, schedule, true).tile.streamed_bytes();
  const std::int64_t b = tile_of(c, c.b, schedule, false).tile.streamed_bytes();
  return schedule.stages * (a + b);
}

namespace {

constexpr std::string_view kTail = "tail-", kAll = "all-", kCluster = "cluster-";

/// Blocks that share a tile's sum, as the space says it: "none", "tail-4" (of the last wave's tiles
/// alone), "all-4" or "cluster-4" (of all tiles, by shared memory).
std::string share_of(const Schedule& s) {
  if (s.share_by_cluster) return std::string(kCluster) + std::to_string(s.split_k);
  if (s.split_k > 1) return std::string(kAll) + std::to_string(s.split_k);
  return s.tail > 1 ? std::string(kTail) + std::to_string(s.tail) : "none";
}

/// Operands that are packed beyond those that have to be, A and B.
constexpr std::pair<bool, bool> kPacks[] = {
    {false, false}, {true, false}, {false, true}, {true, true}};

/// As the space says it: "none", "a", "b" or "ab".
std::string packs_of(const Schedule& s) {
  if (!s.pack_a && !s.pack_b) return "none";
  return std::string(s.pack_a ? "a" : "") + (s.pack_b ? "b" : "");
}

/// Recipes from before there was "share" have "split_k" and "tail", the first of which counts.
void take_share(const Step& step, Schedule& s) {
  s.split_k = static_cast<int>(step.int_param("split_k", 1));
  s.tail = static_cast<int>(step.int_param("tail", 1));
  const std::string share = step.string_param("share", "");
  if (share.empty()) return;
  s.split_k = s.tail = 1;
  s.share_by_cluster = share.starts_with(kCluster);
  for (const auto& [word, blocks] :
       {std::pair{kTail, &s.tail}, std::pair{kAll, &s.split_k}, std::pair{kCluster, &s.split_k}}) {
    if (!share.starts_with(word)) continue;
    std::from_chars(share.data() + word.size(), share.data() + share.size(), *blocks);
  }
}

}  // namespace

std::vector<Parameter> space_of(const Contraction& c, const Goal& goal) {
  std::vector<Parameter> space;
  const auto add = [&](std::string name, std::vector<ParameterValue> domain) {
    space.push_back({std::move(name), std::move(domain)});
  };
  std::vector<ParameterValue> pipes;
  bool fma = false, mma = false;
  for (const Pipe pipe : pipes_for(c, goal)) {
    pipes.emplace_back(std::string(name_of(pipe)));
    (is_fma(pipe) ? fma : mma) = true;
  }
  const auto numbers = [](std::initializer_list<std::int64_t> values) {
    return std::vector<ParameterValue>(values.begin(), values.end());
  };
  add("pipe", pipes);
  add("bm", numbers({16, 32, 64, 128, 256}));
  add("bn",
      has_fp8(c) ? numbers({32, 64, 128, kShortRunColumns, 256}) : numbers({32, 64, 128, 256}));
  add("bk", !mma         ? numbers({8, 16, 32})
            : has_fp8(c) ? numbers({8, 16, 32, 64, 128})
                         : numbers({8, 16, 32, 64}));
  if (fma) {
    add("tm", numbers({4, 8, 16}));
    add("tn", numbers({4, 8, 16}));
  }
  if (mma) {
    add("wm", numbers({16, 32, 64}));
    add("wn", numbers({16, 32, 64}));
  }
  add("stages", numbers({2, 3, 4, 5}));
  std::vector<ParameterValue> shares;  // neighbours are alike
  for (int tail = 8; tail > 1 && c.k_size >= 256; tail /= 2) {
    shares.emplace_back(share_of({.tail = tail}));
  }
  shares.emplace_back(share_of({}));
  for (int split = 2; split <= 64 && c.k_size / split >= 64; split *= 2) {
    shares.emplace_back(share_of({.split_k = split}));
  }
  const bool by_clusters = std::ranges::any_of(pipes_for(c, goal), [&](Pipe pipe) {
    return is_bulk(pipe) && !is_bulk_tf32(pipe) && !adds_in_runs(c, pipe);
  });
  for (int split = 2; by_clusters && split <= 8 && c.k_size / split >= 64; split *= 2) {
    shares.emplace_back(share_of({.split_k = split, .share_by_cluster = true}));
  }
  add("share", shares);
  add("group", numbers({1, 4, 8, 16}));
  bool clusters = false, may_pack_a = false, may_pack_b = false;
  for (const Pipe pipe : pipes_for(c, goal)) {
    if (!is_bulk(pipe)) continue;
    clusters = clusters || !is_bulk_tf32(pipe);
    may_pack_a = may_pack_a || way_of(c, pipe)->a.may_pack;
    may_pack_b = may_pack_b || way_of(c, pipe)->b.may_pack;
  }
  if (clusters) add("cluster", numbers({1, 2, 4}));
  std::vector<ParameterValue> packs;
  for (const auto& [a, b] : kPacks)
    if (a <= may_pack_a && b <= may_pack_b)
      packs.emplace_back(packs_of({.pack_a = a, .pack_b = b}));
  if (packs.size() > 1) add("pack", packs);
  if (fma && (c.a.along_k || c.b.along_k)) {
    add("transpose", {std::string("async"), std::string("registers")});
  }
  return space;
}

namespace {

/// Multiply-adds a cycle of one SM that a good kernel reaches. Source: an H200's data sheet, less
/// what such kernels leave.
double rate_of(const Contraction& c, Pipe pipe) {
  switch (pipe) {
    case Pipe::kFma:
    case Pipe::kFmaRuns:
      return sum_type(c, pipe) == ScalarType::kF64 ? 58 : 115;
    case Pipe::kMma:
      return 700;
    case Pipe::kTf32x3:
      return 130;
    case Pipe::kTf32:
      return 350;
    case Pipe::kBf16:
      return 500;
    case Pipe::kWgmmaBf16:
      return 1900;
    case Pipe::kWgmmaBulk:
    case Pipe::kWgmmaFast:
      return has_fp8(c) ? 3800 : 1900;  // of 8-bit floats: what a data sheet says, not measured
    case Pipe::kBulkTf32x3:
      return 250;
    case Pipe::kBulkTf32:
      return 800;
  }
  return 1;
}

/// Of all k, what tiles are multiplied of on average where some terms are zero or not needed: at so
/// many rows and columns, evenly spread.
double share_of_k(const Contraction& c) {
  constexpr int kSamples = 16;
  double sum = 0;
  for (int i = 0; i < kSamples * kSamples; ++i) {
    const std::int64_t m = c.m_size * (2 * (i / kSamples) + 1) / (2 * kSamples);
    const std::int64_t n = c.n_size * (2 * (i % kSamples) + 1) / (2 * kSamples);
    double first = 0, end = static_cast<double>(c.k_size);
    for (const Bound& bound : c.bounds) {
      const auto reach = static_cast<double>(bound.constant + bound.row * m + bound.column * n);
      const auto at = reach / static_cast<double>(std::max<std::int64_t>(1, std::abs(bound.k)));
      if (bound.k > 0) first = std::max(first, -at);
      if (bound.k < 0) end = std::min(end, at + 1);
      if (bound.k == 0 && reach < 0) end = 0;
    }
    sum += std::max(0.0, end - first);
  }
  return sum / (kSamples * kSamples) / static_cast<double>(c.k_size);
}

/// Of a schedule, in cycles: waves of blocks, each bound by its multiplying or by what it reads,
/// and blocks that are alone on their SM start and finish while nothing multiplies.
double cost_of(const Contraction& given, const Goal& goal, const Schedule& s) {
  const Contraction c = as_multiplied(given, s);
  const bool bulk = is_bulk(s.pipe);
  const double rate_a = bulk ? bulk_rate(c, c.a) : 40;  // of one SM, when all do [B/cycle]
  const double rate_b = bulk ? bulk_rate(c, c.b) : 40;
  constexpr double kWriteRate = 20;  // likewise
  constexpr double kLaunch = 5000;   // one more, with its end
  const double tiles = static_cast<double>(ceil_divide(c.m_size, s.bm * s.cluster) * s.cluster *
                                           ceil_divide(c.n_size, s.bn) * c.batch_size * s.split_k);
  const int words = adds_in_runs(c, s.pipe) || adds_in_short_runs(c, s.pipe) ? 2 : 1;
  const int sums = is_fma(s.pipe) ? registers_of_fma(c, s) - 48
                   : bulk         ? words * s.wm * s.bn / 128
                                  : words * s.wm * s.wn / 32;
  const int registers = sums + 80;
  const std::int64_t by_shared =
      (shared_limit(goal) + 1024) / std::max<std::int64_t>(1, shared_bytes(c, s) + 1024);
  const auto resident = static_cast<double>(std::clamp<std::int64_t>(
      std::min(by_shared, std::int64_t{65536} / (s.threads() * registers)), 1, 2048 / s.threads()));
  const double sms = sms_for_clusters(goal, cluster_of(s));
  // The last wave's tiles in parts.
  const double wave = sms * resident, rest = std::fmod(tiles, wave);
  const double per_sm =
      s.tail == 1 ? std::ceil(tiles / sms)
                  : std::floor(tiles / wave) * resident + std::ceil(rest * s.tail / sms) / s.tail;
  const double warps = std::min(per_sm, resident) * s.threads() / 32.0;
  const double share = c.bounds.empty() || uses_patches(given, s.pipe) ? 1 : share_of_k(c);
  const double steps = std::ceil(share * static_cast<double>(c.k_size) / s.split_k / s.bk) + 2;
  double reuse = 1;  // of what a thread or a warp has read from shared memory
  if (is_fma(s.pipe)) {
    reuse = s.tm * s.tn / (s.tm * s.tn + 1.5 * (s.tm + s.tn));
  } else if (!bulk) {
    reuse = s.wm * s.wn / (s.wm * s.wn + 12.0 * (s.wm + s.wn));
  } else if (is_bulk_tf32(s.pipe)) {
    reuse = (s.bn >= 128  ? 1
             : s.bn >= 64 ? 0.7
                          : 0.5) *
            (s.bm >= 128 ? 1 : 0.6);  // while one group waits
  } else {
    reuse = s.bn >= 256 ? 1 : s.bn >= 128 ? 0.97 : 0.7;
    // Sums of runs are added up. e4m3 of 8192^3 takes an H200 729 us in tiles of 192 columns and
    // 846 us in tiles of 128, and 690 us where the tensor cores add up all.
    if (words > 1) reuse *= s.bn > 128 ? 0.93 : 0.85;
  }
  const double hidden = std::min(1.0, warps / 8);
  const double multiplying =
      static_cast<double>(s.bm) * s.bn * s.bk * steps / (rate_of(c, s.pipe) * reuse * hidden);
  // Of each k: a tile's rows, or its share of a box that all places in the window read.
  double bytes_a = static_cast<double>(s.bm * size_of(c.a.type));
  if (uses_patches(given, s.pipe)) {
    const PatchTiling tiling = *tiling_of(*given.patches, s.bm);
    bytes_a =
        static_cast<double>(tiling.box_elements()) * 4 / static_cast<double>(tiling.groups * 32);
  }
  const double reading =
      (bytes_a / rate_a + static_cast<double>(s.bn / s.cluster * size_of(c.b.type)) / rate_b) *
      s.bk * steps;
  const double out =
      static_cast<double>(s.share_by_cluster ? size_of(ScalarType::kF32)  // to other blocks
                          : s.split_k > 1    ? size_of(c.total_type)
                                             : size_of(c.nest->type));
  const double writing = s.bm * s.bn * out / kWriteRate;
  // Where a thread of its own copies, the next tile comes while this one's outputs go. A stage's
  // copies take so long from its release on, when one is multiplied and one waits for its end.
  const double arriving =
      !bulk ? 0
            : steps * (s.cluster == 1 ? 1200 : 1600 + 225 * s.cluster) / std::max(1, s.stages - 2);
  const double alone =
      bulk ? 1500 + writing * per_sm
           : (1500 + writing) * (resident == 1 ? per_sm : std::ceil(per_sm / resident));
  // The second kernel: a launch, every slice read.
  const double outputs = static_cast<double>(c.m_size) * c.n_size * c.batch_size;
  const double shared_sums = s.tail > 1 ? rest * s.bm * s.bn : outputs;
  const int slices = s.split_k * s.tail;
  const double again = slices == 1 || s.share_by_cluster
                           ? 0
                           : kLaunch + shared_sums * (slices + 1) * 4 / (sms * kWriteRate);
  // Launches before, which read and write what they pack: not measured by itself.
  double packing = 0;
  if (bulk) {
    const BulkWay way = way_of(given, s);
    for (const BulkOperand& operand : {way.a, way.b})
      if (operand.packs) packing += kLaunch + operand.bytes / (sms * kWriteRate);
  }
  return std::max(per_sm * std::max({multiplying, reading, arriving}), per_sm * writing) + alone +
         again + packing;
}

/// Parts of every sum, or of those of the last wave alone.
std::vector<Schedule> with_shares(const Contraction& c, const Schedule& s) {
  std::vector<Schedule> all;
  for (int split = 1; split <= 64 && (split == 1 || c.k_size / split >= 64); split *= 2) {
    all.push_back(s);
    all.back().split_k = split;
  }
  for (int split = 2; is_bulk(s.pipe) && split <= 8 && c.k_size / split >= 64; split *= 2) {
    all.push_back(s);
    all.back().split_k = split;
    all.back().share_by_cluster = true;
  }
  for (int tail = 2; tail <= 8 && c.k_size >= std::max(256, tail * s.bk); tail *= 2) {
    all.push_back(s);
    all.back().tail = tail;
  }
  return all;
}

/// Tiles of a block, and of a thread or a warp, that a pipe can have.
std::vector<Schedule> tiles_of(const Contraction& c, Pipe pipe) {
  std::vector<Schedule> tiles;
  const auto add = [&](Schedule s) {
    s.pipe = pipe;
    // As good as twice as many, which take twice as long to compile.
    s.bk = !is_fma(pipe) ? 64 : s.tm * s.tn > 64 ? 8 : 16;
    s.stages = is_bulk(pipe) ? 5 : 3;
    s.group = 8;
    s.async_transpose = false;  // registers were measured faster
    tiles.push_back(s);
  };
  for (const int bm : {16, 32, 64, 128, 256}) {
    for (const int bn : {32, 64, 128, kShortRunColumns, 256}) {
      if (bn == kShortRunColumns && !has_short_run_columns(c, pipe)) continue;
      if (is_fma(pipe)) {
        for (const int tm : {4, 8, 16})
          for (const int tn : {4, 8, 16}) add({.bm = bm, .bn = bn, .tm = tm, .tn = tn});
      } else if (is_bulk(pipe)) {
        for (const int cluster : {1, 2, 4}) add({.bm = bm, .bn = bn, .cluster = cluster});
      } else {
        for (const int wm : {16, 32, 64})
          for (const int wn : {16, 32, 64}) add({.bm = bm, .bn = bn, .wm = wm, .wn = wn});
      }
    }
  }
  return tiles;
}

auto tile_key(const Schedule& s) {
  return std::tuple(s.pipe, s.bm, s.bn, is_fma(s.pipe) ? s.tm : s.wm, is_fma(s.pipe) ? s.tn : s.wn);
}

/// The cheapest ones, each tile at most twice: one that the model takes for good may not be.
std::vector<Schedule> cheapest(const Contraction& c, const Goal& goal, Pipe pipe,
                               std::size_t most) {
  constexpr int kOfEachTile = 2;
  std::vector<std::pair<double, Schedule>> costs;
  std::set<std::tuple<decltype(tile_key({})), int, bool, int, int, bool, bool>> seen;
  for (const Schedule& tile : tiles_of(c, pipe)) {
    for (const Schedule& shared : with_shares(c, tile)) {
      for (const auto& [a, b] : kPacks) {
        Schedule s = shared;
        s.pack_a = a, s.pack_b = b;
        repair(s, c, shared_limit(goal));
        if (shared_bytes(c, s) > shared_limit(goal)) continue;
        if (seen.emplace(tile_key(s), s.split_k, s.share_by_cluster, s.tail, s.cluster, s.pack_a,
                         s.pack_b)
                .second)
          costs.emplace_back(cost_of(c, goal, s), s);
      }
    }
  }
  std::ranges::stable_sort(costs, {}, [](const auto& one) { return one.first; });
  std::vector<Schedule> chosen;
  for (const auto& [cost, s] : costs) {
    const auto alike = std::ranges::count(chosen, tile_key(s), tile_key);
    if (alike >= kOfEachTile) continue;
    chosen.push_back(s);
    if (chosen.size() == most) break;
  }
  return chosen;
}

}  // namespace

std::vector<std::vector<std::size_t>> first_guesses(const Contraction& c, const Goal& goal,
                                                    const std::vector<Parameter>& space) {
  constexpr std::size_t kOfALevel = 8;
  std::map<MathLevel, std::vector<Schedule>> by_level;
  for (const Pipe pipe : pipes_for(c, goal)) {
    auto& level = by_level[math_of(c, pipe)];
    for (const Schedule& s : cheapest(c, goal, pipe, kOfALevel)) level.push_back(s);
  }
  const auto point_at = [&](const Schedule& s) {
    return point_of(space, [&](const std::string& name) -> ParameterValue {
      if (name == "pipe") return std::string(name_of(s.pipe));
      if (name == "bm") return std::int64_t{s.bm};
      if (name == "bn") return std::int64_t{s.bn};
      if (name == "bk") return std::int64_t{s.bk};
      if (name == "tm") return std::int64_t{s.tm};
      if (name == "tn") return std::int64_t{s.tn};
      if (name == "wm") return std::int64_t{s.wm};
      if (name == "wn") return std::int64_t{s.wn};
      if (name == "stages") return std::int64_t{s.stages};
      if (name == "share") return share_of(s);
      if (name == "cluster") return std::int64_t{s.cluster};
      if (name == "pack") return packs_of(s);
      if (name == "transpose") return std::string(s.async_transpose ? "async" : "registers");
      return std::int64_t{s.group};
    });
  };
  std::vector<std::vector<std::size_t>> points;
  for (auto& [level, schedules] : by_level) {
    std::ranges::stable_sort(schedules, {}, [&](const Schedule& s) { return cost_of(c, goal, s); });
    // The last is one that adds as the nest does, for what f32 terms are not enough for.
    const auto as_nest = std::ranges::find(schedules, Pipe::kFma, &Schedule::pipe);
    if (c.narrow_terms && as_nest != schedules.end() &&
        as_nest - schedules.begin() >= static_cast<std::ptrdiff_t>(kOfALevel))
      std::swap(schedules[kOfALevel - 1], *as_nest);
    for (std::size_t i = 0; i < std::min(kOfALevel, schedules.size()); ++i)
      points.push_back(point_at(schedules[i]));
  }
  return points;
}

Result<Schedule> schedule_of(const Contraction& c, const Goal& goal, const Step& step) {
  Schedule s;
  const std::string asked = step.string_param("pipe", "fma");
  const std::vector<Pipe> pipes = pipes_for(c, goal);
  const auto pipe = std::ranges::find_if(pipes, [&](Pipe p) { return name_of(p) == asked; });
  if (pipe == pipes.end()) return refused("contract: pipe " + asked + " cannot do this product");
  s.pipe = *pipe;
  const auto power = [&](std::string_view name, int fallback, int least, int most) {
    return std::clamp(power_below(step.int_param(name, fallback)), least, most);
  };
  s.bm = power("bm", s.bm, 8, 256);
  s.bn = power("bn", s.bn, 8, 256);
  if (has_short_run_columns(c, s.pipe) && step.int_param("bn", s.bn) == kShortRunColumns)
    s.bn = kShortRunColumns;
  s.bk = power("bk", s.bk, 4, 128);
  s.tm = power("tm", s.tm, 1, 16);
  s.tn = power("tn", s.tn, 1, 16);
  s.wm = power("wm", s.wm, 16, 128);
  s.wn = power("wn", s.wn, 16, 64);
  s.group = power("group", s.group, 1, 64);
  s.cluster = power("cluster", s.cluster, 1, 4);
  s.stages = static_cast<int>(std::clamp<std::int64_t>(step.int_param("stages", 3), 2, 8));
  take_share(step, s);
  const std::string packs = step.string_param("pack", "none");
  s.pack_a = packs == "a" || packs == "ab";
  s.pack_b = packs == "b" || packs == "ab";
  s.split_k = std::clamp(power_below(s.split_k), 1, 256);
  s.tail = std::clamp(power_below(s.tail), 1, 16);
  s.async_transpose = step.string_param("transpose", "async") == "async";
  repair(s, c, shared_limit(goal));
  if (shared_bytes(c, s) > shared_limit(goal)) return refused("contract: too much shared memory");
  const Contraction built = as_multiplied(c, s);
  const std::int64_t tiles = ceil_divide(built.m_size, s.bm) * ceil_divide(built.n_size, s.bn);
  if (tiles * c.batch_size > kMaxGrid[0]) return refused("contract: more blocks than a grid has");
  return s;
}

}  // namespace hone::schedules::contract
