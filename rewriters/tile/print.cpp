// From a tile program to CUDA.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "rewriters/schedules/printing/emit.h"
#include "rewriters/schedules/printing/instructions.h"
#include "rewriters/schedules/printing/print_value.h"
#include "rewriters/schedules/printing/warpgroup.h"
#include "rewriters/tile/helpers.h"
#include "rewriters/tile/operands.h"
#include "rewriters/tile/places_text.h"
#include "rewriters/tile/program.h"
#include "rewriters/tile/rows_text.h"
#include "rewriters/tile/share_text.h"
#include "rewriters/tile/store_text.h"
#include "rewriters/tile/stream_text.h"
#include "rewriters/tile/tf32_text.h"

namespace hone::tile {
namespace {

using schedules::Code;
using schedules::Names;
using schedules::Printer;
using schedules::type_name;

/// What printing knows of a program.
class ProgramPrinter {
 public:
  explicit ProgramPrinter(const Program& program) : p_(program), values_(*program.nodes) {
    // What the texts below call their own things.
    for (const char* word :
         {"m",    "n",    "n_run", "j",     "l",    "odd",     "half",    "left", "right", "got0",
          "got1", "made", "store", "sum",   "row",  "swizzle", "outputs", "here", "piece", "below",
          "last", "to",   "one",   "other", "part", "box",     "first",   "at"})
      names_.take(word);
    if (p_.shares_sums())
      for (const std::string& word : names_in_share_sums()) names_.take(word);
    take_names_of_reads();
    if (streams()) {
      for (const char* word :
           {"thread",   "lane",     "warp",   "fill",   "more",   "ahead",   "read",
            "now",      "step",     "pair",   "column", "line",   "k",       "i",
            "from",     "got",      "from_a", "from_b", "frag_a", "frag_b",  "now_a",
            "now_b",    "here_a",   "here_b", "line_a", "line_b", "small_a", "small_b",
            "thread_m", "thread_n", "stage",  "next",   "second"})
        names_.take(word);
    }
    for (std::size_t r = 0; r < p_.rings.size(); ++r)
      if (p_.is_written(static_cast<int>(r)) || is_read_by_warps(static_cast<int>(r)))
        for (const char* word :
             {"from", "big", "rest", "line", "k", "got", "i", "upper", "lower", "place"})
          names_.take(word);
    for (const auto& parameter : p_.parameters)
      parameter_names_[parameter.buffer] = names_.fresh(parameter.buffer);
    values_.on_load = [this](Ref load) -> std::string {
      const std::string& name = parameter_names_.at(load->name);
      return name == load->name ? "" : schedules::load_from(name, values_, load);
    };
    values_.indices[p_.block] = "static_cast<int>(blockIdx.x)";
    group_ = names_.fresh("group");
    values_.indices[p_.group] = group_;
    if (p_.warp >= 0) values_.indices[p_.warp] = "warp";
    for (const View& view : p_.views) view_names_.push_back(names_.fresh(view.name));
    for (const Ring& ring : p_.rings) {
      const std::string suffix = p_.rings.size() == 1 ? "" : "_" + ring.name;
      rings_.push_back({streams() ? "stage" : names_.fresh("stage" + suffix),
                        names_.fresh("parity" + suffix),
                        names_.fresh("full" + suffix),
                        names_.fresh("empty" + suffix),
                        names_.fresh("kStages" + suffix),
                        {}});
      for (const SharedTile& tile : ring.tiles)
        rings_.back().tiles.push_back(names_.fresh(tile.name));
    }
    for (const Staging& staging : p_.stagings)
      staging_names_.push_back(names_.fresh(staging.tile.name));
    for (const Sums& sums : p_.sums) sums_names_.push_back(names_.fresh(sums.name));
    rows_.emplace(p_, values_, names_, sums_names_);
    streams_.emplace(p_, values_, names_, parameter_names_);
    stores_.emplace(p_, values_,
                    StoreText::Called{sums_names_, view_names_, staging_names_, parameter_names_});
  }

  std::string run() {
    Code code;
    code.line();
    code.comment(p_.comment);
    std::vector<std::string> parameters;
    for (const std::string& view : view_names_)
      parameters.push_back("const __grid_constant__ CUtensorMap " + view);
    for (const auto& parameter : p_.parameters)
      parameters.push_back(fmt::format("{}{}* __restrict__ {}", parameter.written ? "" : "const ",
                                       type_name(parameter.type),
                                       parameter_names_.at(parameter.buffer)));
    code.open_function(
        fmt::format("__global__ void __launch_bounds__({}{}) {}{}", p_.threads(),
                    p_.resident == 0 ? "" : fmt::format(", {}", p_.resident),
                    p_.cluster > 1 ? fmt::format("__cluster_dims__({}) ", p_.cluster) : "",
                    p_.kernel),
        parameters);
    arena(code);
    if (streams()) {
      role_text(p_.roles[0], 0, code);
      code.close();
      return helpers() + code.text();
    }
    int first = 0;
    for (std::size_t r = 0; r < p_.roles.size(); ++r) {
      const Role& role = p_.roles[r];
      const Names before = names_;  // what one role calls its own another may, too
      const int last = first + role.warp_groups;
      if (r == 0) {
        code.open(fmt::format("if (threadIdx.x < {})", last * 128));
      } else if (r + 1 < p_.roles.size()) {
        code.turn(fmt::format("else if (threadIdx.x < {})", last * 128));
      } else {
        code.turn("else");
      }
      role_text(role, first, code);
      names_ = before;
      first = last;
    }
    code.close();
    if (p_.cluster > 1) {
      code.comment("Nobody ends while others may still write to its shared memory, or read it.");
      code.line(p_.prefix + "meet();");
    }
    code.close();
    return helpers() + code.text();
  }

 private:
  bool streams() const { return p_.streams(); }

  /// What stores call the inputs that they read several at once, and the places of their outputs.
  void take_names_of_reads() {
    for (const Role& role : p_.roles) {
      for_each_operation(role.body, [&](const Operation& operation) {
        const auto* store = std::get_if<Store>(&operation.is);
        for (std::size_t i = 0; store != nullptr && i < store->beside.size(); ++i)
          names_.take(fmt::format("read{}", i));
        if (store == nullptr || store->places.empty()) return;
        for (const char* word : {"beside", "number", "i", "swapped", "upper"}) names_.take(word);
        for (std::size_t i = 0; i < store->places.size(); ++i) names_.take(place_name(i));
      });
    }
  }

  struct RingNames {
    std::string stage, parity, full, empty, stages;
    std::vector<std::string> tiles;
  };

  std::string index(Ref value) { return values_.print_index(value); }
  std::string at_stage(int ring, const std::string& barrier) const {
    return fmt::format("&{}[{}]", barrier, rings_[static_cast<std::size_t>(ring)].stage);
  }
  const Ring& ring(int at) const { return p_.rings[static_cast<std::size_t>(at)]; }
  const RingNames& names(int at) const { return rings_[static_cast<std::size_t>(at)]; }

  /// Shared memory, and its barriers.
  void arena(Code& code) {
    code.line(
        fmt::format("extern __shared__ __align__(1024) unsigned char {}shared[];", p_.prefix));
    std::int64_t offset = 0;
    for (std::size_t r = 0; r < p_.rings.size(); ++r) {
      const Ring& ring = p_.rings[r];
      if (!streams() || ring.stages > 1)
        code.line(fmt::format("constexpr int {} = {};", rings_[r].stages, ring.stages));
      for (std::size_t t = 0; t < ring.tiles.size(); ++t) {
        const SharedTile& tile = ring.tiles[t];
        code.comment(fmt::format("{} tiles of {} x {}, as {}.", ring.stages, tile.layout.extent(0),
                                 tile.layout.extent(1), tile.layout.describe()));
        code.line(fmt::format("{0}* const {1} = reinterpret_cast<{0}*>({2}shared + {3});",
                              type_name(tile.type), rings_[r].tiles[t], p_.prefix, offset));
        offset += ring.stages * p_.stage_step(static_cast<int>(r), tile);
      }
    }
    for (std::size_t s = 0; s < p_.stagings.size(); ++s) {
      const auto& [groups, tile] = p_.stagings[s];
      code.comment(fmt::format("Outputs on their way, {} x {} of each warp group, as {}.",
                               tile.layout.extent(0), tile.layout.extent(1),
                               tile.layout.describe()));
      code.line(fmt::format("{0}* const {1} = reinterpret_cast<{0}*>({2}shared + {3});",
                            type_name(tile.type), staging_names_[s], p_.prefix, offset));
      offset += groups * tile.bytes();
    }
    if (!streams()) barriers(offset, code);
  }

  void barriers(std::int64_t offset, Code& code) {
    for (std::size_t r = 0; r < p_.rings.size(); ++r) {
      code.line(fmt::format(
          "unsigned long long* const {} = reinterpret_cast<unsigned long long*>({}shared + {});",
          rings_[r].full, p_.prefix, offset));
      code.line(fmt::format("unsigned long long* const {} = {} + {};", rings_[r].empty,
                            rings_[r].full, rings_[r].stages));
      offset += std::int64_t{16} * p_.rings[r].stages;
    }
    if (p_.shares_sums()) {
      code.line(fmt::format(
          "unsigned long long* const sent = reinterpret_cast<unsigned long long*>({}shared + {});",
          p_.prefix, offset));
      code.line("unsigned long long* const consumed = sent + 1;");
    }
    code.open("if (threadIdx.x == 0)");
    if (p_.shares_sums()) {
      code.line(fmt::format("{}init(sent, {});", p_.prefix, sharers() * p_.cluster));
      code.line(fmt::format("{}init(consumed, {});", p_.prefix, sharers() * p_.cluster));
    }
    for (std::size_t r = 0; r < p_.rings.size(); ++r) {
      code.open(fmt::format("for (int i = 0; i < {}; ++i)", rings_[r].stages));
      code.line(fmt::format("{}init(&{}[i], {});", p_.prefix, rings_[r].full,
                            p_.writers(static_cast<int>(r))));
      code.line(fmt::format("{}init(&{}[i], {});", p_.prefix, rings_[r].empty,
                            readers(static_cast<int>(r)) * releasing()));
      code.close();
    }
    code.line(p_.prefix + "init_ends();");
    code.close();
    code.line(p_.cluster > 1 ? p_.prefix + "meet();" : "__syncthreads();");
  }

  /// Blocks that have to release a stage before it is empty.
  int releasing() const { return p_.shares_copies() ? p_.cluster : 1; }

  /// Warp groups of a block that share sums.
  int sharers() const {
    int groups = 0;
    for (const Role& role : p_.roles) {
      bool shares = false;
      for_each_operation(role.body, [&](const Operation& operation) {
        shares |= std::holds_alternative<ShareSums>(operation.is);
      });
      groups += shares ? role.warp_groups : 0;
    }
    return groups;
  }

  /// Who release each stage: one thread of each warp group, or of each warp where warps read by
  /// themselves.
  int readers(int ring) const {
    int readers = 0;
    for (const Role& role : p_.roles)
      if (reads(role.body, ring))
        readers += role.warp_groups * (reads_by_warps(role.body, ring) ? 4 : 1);
    return readers;
  }
  bool is_read_by_warps(int ring) const {
    return std::ranges::any_of(p_.roles,
                               [&](const Role& role) { return reads_by_warps(role.body, ring); });
  }
  static bool reads_by_warps(const Body& body, int ring) {
    bool found = false;
    for_each_operation(body, [&](const Operation& operation) {
      const auto* read = std::get_if<ReadFragments>(&operation.is);
      const auto* split = std::get_if<SplitTile>(&operation.is);
      const auto* patch = std::get_if<ReadPatch>(&operation.is);
      found |= patch != nullptr && patch->ring == ring;
      found |= (read != nullptr && read->ring == ring) || (split != nullptr && split->ring == ring);
    });
    return found;
  }
  static bool reads(const Body& body, int ring) {
    bool found = false;
    for_each_operation(body, [&](const Operation& operation) {
      const auto* wait = std::get_if<Wait>(&operation.is);
      found |= wait != nullptr && wait->ring == ring;
    });
    return found;
  }
  static bool touches(const Body& body, int ring) {
    bool found = reads(body, ring);
    for_each_operation(body, [&](const Operation& operation) {
      const auto* acquire = std::get_if<Acquire>(&operation.is);
      found |= acquire != nullptr && acquire->ring == ring;
    });
    return found;
  }
  static std::set<int> sums_of(const Body& body) {
    std::set<int> sums;
    for_each_operation(body, [&](const Operation& operation) {
      if (const auto* multiply = std::get_if<Multiply>(&operation.is)) sums.insert(multiply->sums);
      if (const auto* by_warps = std::get_if<WarpMultiply>(&operation.is))
        sums.insert(by_warps->sums);
      if (const auto* by_threads = std::get_if<ThreadMultiply>(&operation.is))
        sums.insert(by_threads->sums);
      if (const auto* by_half = std::get_if<HalfWarpMultiply>(&operation.is))
        sums.insert(by_half->sums);
      if (const auto* add = std::get_if<AddRuns>(&operation.is)) sums.insert(add->sums);
      if (const auto* share = std::get_if<ShareSums>(&operation.is)) sums.insert(share->shared);
    });
    return sums;
  }
  static bool stages_outputs(const Body& body) {
    bool found = false;
    for_each_operation(body, [&](const Operation& operation) {
      const auto* store = std::get_if<Store>(&operation.is);
      found |= store != nullptr && store->staging >= 0 && store->view >= 0;
    });
    return found;
  }

  void role_text(const Role& role, int first_group, Code& code) {
    if (!streams()) code.comment(fmt::format("Role '{}'.", role.name));
    const int each = p_.registers_at_launch(Limits().registers);
    if (role.registers > 0)
      code.line(fmt::format("{}{}_registers<{}>();", p_.prefix,
                            role.registers < each ? "give" : "take", role.registers));
    if (role.one_thread) code.open(fmt::format("if (threadIdx.x == {})", first_group * 128));
    if (role.warp_groups > 1)
      code.line(fmt::format("const int {} = static_cast<int>(threadIdx.x) / 128 - {};", group_,
                            first_group));
    sums_here_ = sums_of(role.body);
    if (streams()) {
      code.line("const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;");
    } else if (!sums_here_.empty()) {
      code.line("const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;");
    }
    for (const int s : sums_here_) {
      const Sums& sums = p_.sums[static_cast<std::size_t>(s)];
      code.line(fmt::format("{} {}[{}] = {{}};", type_name(sums.type),
                            sums_names_[static_cast<std::size_t>(s)], sums.count()));
    }
    if (!sums_here_.empty()) {
      const Sums& sums = p_.sums[static_cast<std::size_t>(*sums_here_.begin())];
      if (sums.of == SumsOf::kThread) code.lines(thread_places(sums));
    }
    rows_->begin(role, group_, code);
    if (sharers() > 0 && !sums_here_.empty()) code.line("unsigned share_parity = 0;");
    multiplying_.clear();
    for (std::size_t r = 0; r < p_.rings.size(); ++r) {
      if (!touches(role.body, static_cast<int>(r))) continue;
      code.line(fmt::format("int {} = 0;", rings_[r].stage));
      code.line(fmt::format("unsigned {} = 0;", rings_[r].parity));
    }
    if (role.warp_groups == 1) values_.indices[p_.group] = "0";
    role_ = &role;
    thread_ = role.warp_groups == 1
                  ? "static_cast<int>(threadIdx.x % 128)"
                  : fmt::format("static_cast<int>(threadIdx.x - {})", first_group * 128);
    const bool staged = stages_outputs(role.body);
    body_text(role.body, code);
    if (staged) {
      code.comment("Shared memory is there until all is copied.");
      code.line(fmt::format("if (threadIdx.x % 128 == 0) {}stores_wait();", p_.prefix));
    }
    values_.indices[p_.group] = group_;
    if (role.one_thread) code.close();
  }

  void body_text(const Body& body, Code& code) {
    for (const Operation& operation : body)
      std::visit([&](const auto& one) { text(one, code); }, operation.is);
  }

  void text(const Define& define, Code& code) {
    const std::string value = index(define.value);
    const std::string name = names_.fresh(p_.nodes->symbol(define.symbol).name);
    values_.indices[define.symbol] = name;
    code.line(fmt::format("const int {} = {};", name, value));
  }

  void text(const Loop& loop, Code& code) {
    const std::string first = index(loop.first), end = index(loop.end), step = index(loop.step);
    const std::string name = names_.fresh(p_.nodes->symbol(loop.symbol).name);
    values_.indices[loop.symbol] = name;
    if (!loop.comment.empty()) code.comment(loop.comment);
    code.line("#pragma unroll 1");
    code.open(fmt::format("for (int {0} = {1}; {0} < {2}; {3})", name, first, end,
                          step == "1" ? "++" + name : name + " += " + step));
    body_text(loop.body, code);
    code.close();
  }

  StreamText::Called called(int ring) const {
    return {names(ring).stage, names(ring).stages, names(ring).tiles};
  }

  void text(const Stream& stream, Code& code) {
    values_.indices[stream.symbol] = names_.fresh(p_.nodes->symbol(stream.symbol).name);
    Code before, body, exchanged;
    body_text(stream.before, before);
    const ThreadMultiply* multiply = multiply_adds_of(stream);
    Code* here = &body;
    for (const Operation& operation : stream.body) {
      if (std::holds_alternative<Exchange>(operation.is)) here = &exchanged;
      std::visit([&](const auto& one) { text(one, *here); }, operation.is);
    }
    streams_->write(
        stream, called(stream.ring), called(std::max(stream.once_ring, 0)),
        {.before = before.text(),
         .body = body.text(),
         .exchanged = exchanged.text(),
         .sums = multiply == nullptr ? "" : sums_names_[static_cast<std::size_t>(multiply->sums)]},
        code);
  }

  void text(const WarpMultiply& multiply, Code& code) {
    const auto name = [&](int fragments) {
      return fragments < 0 ? std::string() : rows_->fragments(fragments);
    };
    streams_->write(multiply, called(multiply.ring), called(std::max(multiply.a_ring, 0)),
                    sums_names_[static_cast<std::size_t>(multiply.sums)], name(multiply.fragments),
                    name(multiply.rest), code);
  }

  void text(const RoundSums& round, Code& code) {
    streams_->rounds(round);
    rows_->write(round, code);
  }

  void text(const HalfWarpMultiply& multiply, Code& code) {
    streams_->write(multiply, called(multiply.ring), called(multiply.a_ring),
                    sums_names_[static_cast<std::size_t>(multiply.sums)], code);
  }

  void text(const KeepSums& keep, Code& code) {
    streams_->write(keep, called(keep.ring), sums_names_[static_cast<std::size_t>(keep.sums)],
                    code);
  }

  /// Its stream's text divides the body there.
  void text(const Exchange&, Code&) {}

  /// The first of its stream, whose text has it.
  void text(const ThreadMultiply&, Code&) {}

  void text(const When& when, Code& code) {
    code.open(fmt::format("if ({})", values_.print(when.condition)));
    body_text(when.body, code);
    code.close();
  }

  void text(const Acquire& acquire, Code& code) {
    const bool written = p_.is_written(acquire.ring);
    code.comment(written ? "Once the stage is empty."
                         : "Once the stage is empty: the bytes of its next tiles.");
    code.line(fmt::format("{}wait_for({}, {} ^ 1);", p_.prefix,
                          at_stage(acquire.ring, names(acquire.ring).empty),
                          names(acquire.ring).parity));
    if (written) return;
    code.line(fmt::format("{}expect({}, {});", p_.prefix,
                          at_stage(acquire.ring, names(acquire.ring).full),
                          p_.stage_bytes(ring(acquire.ring))));
  }

  void text(const BulkCopy& copy, Code& code) {
    const SharedTile& tile = ring(copy.ring).tiles[static_cast<std::size_t>(copy.tile)];
    const std::int64_t inside = tile.layout.offset(copy.to);
    std::string from;
    for (std::size_t i = copy.from.size(); i-- > 0;) from += ", " + index(copy.from[i]);
    std::string more = inside == 0 ? "" : std::to_string(inside);
    copies_.emplace(static_cast<int>(copy.from.size()), copy.step_by_rank.empty() ? 1 : p_.cluster);
    if (!copy.step_by_rank.empty()) {
      std::vector<std::int64_t> next = copy.to;
      for (std::size_t d = 0; d < next.size(); ++d) next[d] += copy.step_by_rank[d];
      const Ref rank =
          p_.nodes->remainder(p_.nodes->index(p_.block), p_.nodes->integer(p_.cluster));
      more += fmt::format("{}{}", more.empty() ? "" : " + ",
                          index(p_.nodes->scale(rank, tile.layout.offset(next) - inside)));
    }
    code.line(fmt::format(
        "{}copy_box{}(&{}, {}, {}{});", p_.prefix, copy.step_by_rank.empty() ? "" : "_for_all",
        place(copy.ring, copy.tile, more), view_names_[static_cast<std::size_t>(copy.view)],
        at_stage(copy.ring, names(copy.ring).full), from));
  }

  /// "tile_a[stage * 8192 + more]"
  std::string place(int ring_at, int tile_at, const std::string& more) const {
    const SharedTile& tile = ring(ring_at).tiles[static_cast<std::size_t>(tile_at)];
    return fmt::format("{}[{} * {}{}]", names(ring_at).tiles[static_cast<std::size_t>(tile_at)],
                       names(ring_at).stage,
                       tile.bytes() / static_cast<std::int64_t>(size_of(tile.type)),
                       more.empty() ? "" : " + " + more);
  }

  void next_stage(int ring, Code& code) {
    code.open(fmt::format("if (++{} == {})", names(ring).stage, names(ring).stages));
    code.line(fmt::format("{} = 0;", names(ring).stage));
    code.line(fmt::format("{} ^= 1;", names(ring).parity));
    code.close();
  }

  void text(const Commit& commit, Code& code) {
    if (p_.is_written(commit.ring)) {
      code.comment("What each thread has written is there for the tensor cores.");
      code.line(p_.prefix + "publish();");
      arrive_by_warps(at_stage(commit.ring, names(commit.ring).full), code);
    }
    next_stage(commit.ring, code);
  }

  void arrive_by_warps(const std::string& barrier, Code& code) {
    code.line("__syncwarp();");
    code.line(fmt::format("if (threadIdx.x % 32 == 0) {}arrive({});", p_.prefix, barrier));
  }

  void text(const SplitTile& split, Code& code) {
    splits_ = true;
    const SharedTile& tile = ring(split.ring).tiles[static_cast<std::size_t>(split.tile)];
    code.comment(
        fmt::format("What products leave of {}, as tf32.", names(split.ring).tiles[split.tile]));
    code.block(split_tile(tile,
                          {.from = "&" + place(split.ring, split.tile, ""),
                           .rest = "&" + place(split.to_ring, split.rest, ""),
                           .thread = thread_,
                           .threads = role_->warp_groups * 128},
                          p_.prefix, tf32_));
  }

  void text(const ReadFragments& read, Code& code) {
    if (streams()) {
      return streams_->write(read, called(read.ring), rows_->fragments(read.fragments), code);
    }
    const SharedTile& tile = ring(read.ring).tiles[static_cast<std::size_t>(read.tile)];
    code.comment(fmt::format("64 rows of {} as tf32{}.", names(read.ring).tiles[read.tile],
                             read.rest < 0 ? "" : ", and what that leaves"));
    code.block(read_fragments(tile,
                              {.from = "&" + place(read.ring, read.tile, ""),
                               .first_row = read.row == nullptr ? "0" : index(read.row),
                               .to = rows_->fragments(read.fragments),
                               .rest = read.rest < 0 ? "" : rows_->fragments(read.rest),
                               .rounded = read.rounded},
                              p_.prefix, tf32_));
  }

  void text(const ReadPatch& read, Code& code) {
    const SharedTile& tile = ring(read.ring).tiles[static_cast<std::size_t>(read.tile)];
    code.comment(fmt::format("What one place of the windows of 64 outputs reads of {}{}.",
                             names(read.ring).tiles[read.tile],
                             read.rest < 0 ? "" : ", and what rounding leaves"));
    const bool always = read.there->is_constant() && read.there->constant != 0;
    code.block(read_patch(read, tile,
                          {.from = "&" + place(read.ring, read.tile, index(read.from)),
                           .first_row = index(read.row),
                           .to = rows_->fragments(read.fragments),
                           .rest = read.rest < 0 ? "" : rows_->fragments(read.rest)},
                          always ? "" : values_.print(read.there), p_.prefix, tf32_));
  }

  void text(const Wait& wait, Code& code) {
    code.line(fmt::format("{}wait_for({}, {});", p_.prefix,
                          at_stage(wait.ring, names(wait.ring).full), names(wait.ring).parity));
  }

  void text(const Multiply& multiply, Code& code) {
    const int a_ring = multiply.a_ring < 0 ? multiply.ring : multiply.a_ring;
    const bool registers = multiply.fragments >= 0;
    const SharedTile& a = ring(a_ring).tiles[static_cast<std::size_t>(multiply.a)];
    const SharedTile& b = ring(multiply.ring).tiles[static_cast<std::size_t>(multiply.b)];
    const std::int64_t k = b.layout.extent(1);
    code.comment(fmt::format("64 x {} sums of {} products each, which go on by themselves.",
                             p_.sums[static_cast<std::size_t>(multiply.sums)].columns, k));
    code.line(p_.prefix + "wgmma_begin();");
    multiplying_.push_back(multiply.sums);
    code.line("#pragma unroll");
    const std::int64_t step = wgmma_k(b.type), line = line_of(b.type);
    code.open(fmt::format("for (int i = 0; i < {}; ++i)", k / step));
    const auto operand = [&](int of, int tile_at, const SharedTile& tile, Ref row) {
      std::string more;
      const std::int64_t by_row = tile.layout.extent(0) > 64 ? tile.layout.offset({64, 0}) : 0;
      if (row != nullptr && !(row->is_constant() && row->constant == 0) && by_row != 0)
        more = index(p_.nodes->scale(p_.nodes->divide(row, p_.nodes->integer(64)), by_row)) + " + ";
      // The k of one wgmma, in lines where they run along k.
      more += k > line && is_along_k(tile)
                  ? fmt::format("i / 4 * {} + i % 4 * {}", tile.layout.offset({0, line}), step)
                  : fmt::format("i * {}", tile.layout.offset({0, step}));
      const std::int64_t leap =
          is_along_k(tile)
              ? 16
              : tile.layout.extent(1) * 64 * static_cast<std::int64_t>(size_of(tile.type));
      return fmt::format("{}descriptor<{}>(&{})", p_.prefix, leap, place(of, tile_at, more));
    };
    code.line(fmt::format("{}multiply_{}({}, {}, {}, {});", p_.prefix,
                          sums_names_[static_cast<std::size_t>(multiply.sums)],
                          sums_names_[static_cast<std::size_t>(multiply.sums)],
                          registers ? rows_->fragments(multiply.fragments) + "[i]"
                                    : operand(a_ring, multiply.a, a, multiply.a_row),
                          operand(multiply.ring, multiply.b, b, nullptr),
                          multiply.fresh == nullptr ? "true"
                          : multiply.fresh->is_constant()
                              ? std::string(multiply.fresh->constant != 0 ? "i > 0" : "true")
                              : fmt::format("i > 0 || !({})", values_.print(multiply.fresh))));
    code.close();
    code.line(p_.prefix + "wgmma_commit();");
  }

  /// The stage before is empty: for whoever fills it, in every block of the cluster.
  void arrive(int ring, const std::string& condition, Code& code) {
    const std::string before = fmt::format("&{0}[({1} == 0 ? {2} : {1}) - 1]", names(ring).empty,
                                           names(ring).stage, names(ring).stages);
    if (releasing() == 1) {
      code.line(
          fmt::format("if ({}threadIdx.x % 128 == 0) {}arrive({});", condition, p_.prefix, before));
    } else {
      code.line(fmt::format("if ({}threadIdx.x % 128 < {}) {}arrive_at({}, threadIdx.x % 128);",
                            condition, p_.cluster, p_.prefix, before));
    }
  }

  void text(const Advance& advance, Code& code) {
    code.comment("The products of the stage before have ended: it is empty.");
    code.line(p_.prefix + "wgmma_wait<1>();");
    arrive(advance.ring,
           advance.nothing_before == nullptr
               ? ""
               : fmt::format("!({}) && ", values_.print(advance.nothing_before)),
           code);
    next_stage(advance.ring, code);
  }

  void text(const Drain& drain, Code& code) {
    code.line(p_.prefix + "wgmma_wait<0>();");
    arrive(drain.ring, "", code);
    for (const int s : sums_here_)
      if (!is_shared(s))
        code.line(
            fmt::format("{}settle({});", p_.prefix, sums_names_[static_cast<std::size_t>(s)]));
  }

  /// Are these sums what blocks share, which no product adds to?
  bool is_shared(int sums) const {
    bool shared = false;
    for_each_operation(role_->body, [&](const Operation& operation) {
      const auto* share = std::get_if<ShareSums>(&operation.is);
      shared |= share != nullptr && share->shared == sums;
    });
    return shared;
  }

  void text(const Await& await, Code& code) {
    code.line(fmt::format("{}wgmma_wait<{}>();", p_.prefix, await.left));
    const auto left = static_cast<std::size_t>(await.left);
    const std::size_t ended = multiplying_.size() - std::min(left, multiplying_.size());
    const std::set<int> sums(multiplying_.begin(),
                             multiplying_.begin() + static_cast<std::ptrdiff_t>(ended));
    multiplying_.erase(multiplying_.begin(),
                       multiplying_.begin() + static_cast<std::ptrdiff_t>(ended));
    for (const int s : sums)
      code.line(fmt::format("{}settle({});", p_.prefix, sums_names_[static_cast<std::size_t>(s)]));
  }

  void text(const Release& release, Code& code) {
    const RingNames& of = names(release.ring);
    const std::string stage = fmt::format("&{}[{}]", of.empty, of.stage);
    if (reads_by_warps(role_->body, release.ring)) {
      arrive_by_warps(stage, code);
    } else if (releasing() == 1) {
      code.line(fmt::format("if (threadIdx.x % 128 == 0) {}arrive({});", p_.prefix, stage));
    } else {
      code.line(fmt::format("if (threadIdx.x % 128 < {}) {}arrive_at({}, threadIdx.x % 128);",
                            p_.cluster, p_.prefix, stage));
    }
    next_stage(release.ring, code);
  }

  void text(const AddRuns& add, Code& code) {
    (add.forget ? short_runs_ : runs_) = true;
    const std::string& sums = sums_names_[static_cast<std::size_t>(add.sums)];
    code.comment(add.forget ? "The runs' sums, in f32."
                            : "The runs' sums; what rounding takes of them goes to the next run.");
    code.line(fmt::format("{}add_{}({}, {});", p_.prefix, add.forget ? "short_runs" : "runs", sums,
                          sums_names_[static_cast<std::size_t>(add.runs)]));
  }

  void text(const ShareSums& share, Code& code) {
    code.block(share_sums(p_, share,
                          {.sums = sums_names_[static_cast<std::size_t>(share.sums)],
                           .shared = sums_names_[static_cast<std::size_t>(share.shared)],
                           .staging = staging_names_[static_cast<std::size_t>(share.staging)],
                           .group = values_.indices.at(p_.group)}));
  }

  template <class One>
    requires requires(RowsText& rows, const One& one, Code& code) { rows.write(one, code); }
  void text(const One& one, Code& code) {
    rows_->write(one, code);
  }

  void text(const Store& store, Code& code) { stores_->write(store, code); }

  std::string helpers() {
    bool given = false;
    for (const Role& role : p_.roles) given |= role.registers > 0;
    std::string text = helpers_of({.barriers = !streams(),
                                   .cluster = p_.cluster > 1,
                                   .shared_sums = p_.shares_sums(),
                                   .registers = given,
                                   .runs = runs_,
                                   .short_runs = short_runs_,
                                   .copies = copies_,
                                   .stores = stores_->tensors(),
                                   .groups_meet = stores_->groups_meet() || p_.shares_sums(),
                                   .packs = stores_->packs() || streams_->packs() || splits_},
                                  p_.prefix);
    if (streams()) return text + streams_->helpers() + rows_->helpers();
    text += schedules::warpgroup_helpers(p_.prefix);
    text += rows_->helpers() + tf32_.text(p_.prefix);
    products(text);
    return text;
  }

  static std::string kind_of(ScalarType type) {
    return type == ScalarType::kF32 ? "tf32" : schedules::kind_of(type);
  }

  /// The function that multiplies into each of the sums.
  void products(std::string& text) {
    std::set<int> done;
    const auto product = [&](const Operation& operation) {
      const auto* multiply = std::get_if<Multiply>(&operation.is);
      if (multiply == nullptr || !done.insert(multiply->sums).second) return;
      const Ring& of = ring(multiply->a_ring < 0 ? multiply->ring : multiply->a_ring);
      const bool registers = multiply->fragments >= 0;
      const SharedTile& b = ring(multiply->ring).tiles[static_cast<std::size_t>(multiply->b)];
      const SharedTile& a = registers ? b : of.tiles[static_cast<std::size_t>(multiply->a)];
      text += schedules::warpgroup_multiply(
          {.n = p_.sums[static_cast<std::size_t>(multiply->sums)].columns,
           .k = static_cast<int>(wgmma_k(b.type)),
           .kind = kind_of(a.type),
           .kind_b = kind_of(b.type),
           .a_k_rows = !registers && !is_along_k(a),
           .b_k_rows = !is_along_k(b),
           .a_in_registers = registers,
           .name = "multiply_" + sums_names_[static_cast<std::size_t>(multiply->sums)]},
          p_.prefix);
    };
    for (const Role& role : p_.roles) for_each_operation(role.body, product);
  }

  const Program& p_;
  Printer values_;
  Names names_;
  std::map<std::string, std::string> parameter_names_;
  std::string group_;
  std::vector<std::string> view_names_, sums_names_, staging_names_;
  std::vector<RingNames> rings_;
  std::set<int> sums_here_;  ///< of the role that is printed
  std::optional<RowsText> rows_;
  std::optional<StreamText> streams_;
  std::optional<StoreText> stores_;
  std::vector<int> multiplying_;  ///< sums of products on their way
  const Role* role_ = nullptr;    ///< that is printed
  std::string thread_;            ///< the thread's number in it
  Tf32Helpers tf32_;
  bool runs_ = false, short_runs_ = false, splits_ = false;
  std::set<std::pair<int, int>> copies_;  ///< dimensions, and to how many blocks
};

}  // namespace

std::string print(const Program& program) { return ProgramPrinter(program).run(); }

}  // namespace hone::tile
