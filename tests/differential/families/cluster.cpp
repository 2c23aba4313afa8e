// Clusters of four blocks: other blocks' shared memory, multicast, asynchronous stores and
// reductions, mbarriers of other blocks.
#include <fmt/format.h>

#include "tests/differential/families/raw.h"

namespace hone::differential {
namespace {

// %r0 tile, %r1 bar, %r2 other (both 256 B, loaded from in0), %r3 rank, %r4 and %r5 this thread's
// words of them, %r10 to %r12 bar, tile and other of the next block; %q0 the first thread, %q2 that
// of the first block. The tile goes to buffer 1 at the end.
void add(std::vector<Case>& cases, const std::string& name, const std::string& body,
         int arrivals = 1, bool wait = true) {
  Raw raw;
  raw.name = "cluster/" + name;
  raw.target = "sm_90";
  raw.version = "8.4";
  raw.grid = {8, 1, 1};
  raw.directives = ".reqnctapercluster 4, 1, 1";
  raw.module =
      ".shared .align 128 .b8 tile[256];\n.shared .align 128 .b8 other[256];\n"
      ".shared .align 8 .b64 bar;\n";
  raw.buffers = {in(8 * 256 * 2, Fill::kInt32, 41), out(8 * 256)};
  raw.body = fmt::format(R"(  mov.u32 %r0, tile;
  mov.u32 %r1, bar;
  mov.u32 %r2, other;
  mov.u32 %r3, %cluster_ctarank;
  mad.lo.u32 %r4, %ti, 4, %r0;
  mad.lo.u32 %r5, %ti, 4, %r2;
  mad.wide.u32 %x0, %i, 8, %p0;
  ld.global.v2.b32 {{%r6, %r7}}, [%x0];
  st.shared.b32 [%r4], %r6;
  st.shared.b32 [%r5], %r7;
  add.u32 %r8, %r3, 1;
  and.b32 %r8, %r8, 3;
  mapa.shared::cluster.u32 %r10, %r1, %r8;
  mapa.shared::cluster.u32 %r11, %r0, %r8;
  mapa.shared::cluster.u32 %r12, %r2, %r8;
  setp.eq.u32 %q0, %ti, 0;
  setp.eq.u32 %q1, %r3, 0;
  and.pred %q2, %q0, %q1;
  @%q0 mbarrier.init.shared.b64 [%r1], {};
  fence.mbarrier_init.release.cluster;
  fence.proxy.async;
  barrier.cluster.arrive;
  barrier.cluster.wait;
{}{}  barrier.cluster.arrive;
  barrier.cluster.wait;
  ld.shared.b32 %r20, [%r4];
  mad.wide.u32 %p1, %i, 4, %p1;
  st.global.b32 [%p1], %r20;
)",
                         arrivals, body,
                         wait ? "WAIT:\n"
                                "  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q3, "
                                "[%r1], 0;\n  @!%q3 bra WAIT;\n"
                              : "");
  add_raw(cases, raw);
}

}  // namespace

void add_cluster_cases(std::vector<Case>& cases) {
  const auto expecting = [&](int bytes) {
    return fmt::format("  @%q0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], {};\n", bytes);
  };
  // Each block multicasts 64 bytes of the input to two or three others.
  add(cases, "multicast",
      expecting(64 * 3) +
          "  mov.u32 %r21, 11;\n  shl.b32 %r22, %r21, %r3;\n  shr.u32 %r23, %r22, 4;\n"
          "  or.b32 %r22, %r22, %r23;\n  and.b32 %r22, %r22, 15;\n  cvt.u16.u32 %h0, %r22;\n"
          "  mad.lo.u32 %r24, %r3, 64, %r0;\n  mul.wide.u32 %x1, %i, 4;\n  add.u64 %x1, %x1, %p0;\n"
          "  @%q0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
          ".multicast::cluster [%r24], [%x1], 64, [%r1], %h0;\n");
  add(cases, "copy",
      expecting(128) +
          "  @%q0 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
          "[%r11+64], [%r2+32], 128, [%r10];\n");
  add(cases, "remote_expect",
      "  @%q0 mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r10], 128;\n"
      "  @%q0 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
      "[%r11], [%r2], 128, [%r10];\n");
  add(cases, "remote_arrivals",
      "  mad.lo.u32 %r13, %ti, 4, %r11;\n  st.shared::cluster.b32 [%r13], %r7;\n"
      "  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r10];\n",
      64);
  add(cases, "remote_counts",
      "  mad.lo.u32 %r13, %ti, 4, %r11;\n  st.shared::cluster.b32 [%r13], %r7;\n"
      "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n"
      "  @%q0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r10], 5;\n",
      5);
  const std::string st = ".shared::cluster.mbarrier::complete_tx::bytes";
  add(cases, "st_async",
      expecting(256) + "  mad.lo.u32 %r13, %ti, 4, %r11;\n  st.async.weak" + st +
          ".b32 [%r13], %r7, [%r10];\n");
  add(cases, "st_async_vectors",
      expecting(256) +
          "  mad.lo.u32 %r13, %ti, 16, %r11;\n  setp.lt.u32 %q4, %ti, 8;\n"
          "  add.u32 %r21, %r7, 1;\n  add.u32 %r22, %r7, 2;\n  add.u32 %r23, %r7, 3;\n"
          "  cvt.u64.u32 %x1, %r6;\n  cvt.s64.s32 %x2, %r7;\n"
          "  @%q4 st.async" +
          st +
          ".v4.b32 [%r13], {%r7, %r21, %r22, %r23}, [%r10];\n"
          "  add.u32 %r13, %r13, 128;\n"
          "  @%q4 st.async" +
          st + ".v2.b64 [%r13], {%x1, %x2}, [%r10];\n");
  for (const char* op : {"add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32",
                         "inc.u32", "dec.u32", "and.b32", "or.b32", "xor.b32"}) {
    add(cases, fmt::format("red_async.{}", op),
        expecting(256) + "  mad.lo.u32 %r13, %ti, 4, %r11;\n  red.async.relaxed.cluster" + st +
            fmt::format(".{} [%r13], %r7, [%r10];\n", op));
    add(cases, fmt::format("copy_reduce.{}", op),
        expecting(256) +
            fmt::format("  @%q0 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier"
                        "::complete_tx::bytes.{} [%r11], [%r2], 256, [%r10];\n",
                        op));
  }
  add(cases, "red_async.add.u64",
      expecting(256) +
          "  mad.lo.u32 %r13, %ti, 8, %r11;\n  setp.lt.u32 %q4, %ti, 32;\n"
          "  cvt.s64.s32 %x1, %r7;\n  @%q4 red.async.relaxed.cluster" +
          st + ".add.u64 [%r13], %x1, [%r10];\n");
  add(cases, "copy_reduce.add.u64",
      expecting(256) +
          "  @%q0 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
          ".add.u64 [%r11], [%r2], 256, [%r10];\n");
  // All blocks at one place.
  add(cases, "red_async.everybody",
      "  setp.eq.u32 %q4, %r3, 2;\n  and.pred %q4, %q4, %q0;\n"
      "  @%q4 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 1024;\n"
      "  setp.ne.u32 %q5, %r3, 2;\n  and.pred %q5, %q5, %q0;\n"
      "  @%q5 mbarrier.arrive.shared.b64 _, [%r1];\n"
      "  mapa.shared::cluster.u32 %r10, %r1, 2;\n  mapa.shared::cluster.u32 %r11, %r0, 2;\n"
      "  red.async.relaxed.cluster" +
          st + ".add.s32 [%r11], %r7, [%r10];\n");
  add(cases, "ranks",
      "  getctarank.shared::cluster.u32 %r21, %r11;\n  getctarank.shared::cluster.u32 %r22, %r0;\n"
      "  cvt.u64.u32 %x1, %r0;\n  cvta.shared.u64 %x1, %x1;\n  mapa.u64 %x2, %x1, %r8;\n"
      "  getctarank.u64 %r23, %x2;\n  mov.u32 %r24, %cluster_nctarank;\n"
      "  mov.u32 %r25, %cluster_ctaid.x;\n  mov.u32 %r26, %clusterid.x;\n"
      "  isspacep.shared::cta %q4, %x2;\n  isspacep.shared::cluster %q5, %x2;\n"
      "  isspacep.shared::cta %q6, %x1;\n  selp.u32 %r27, 1, 0, %q4;\n  selp.u32 %r28, 2, 0, %q5;\n"
      "  selp.u32 %r29, 4, 0, %q6;\n  mad.lo.u32 %r21, %r21, 10, %r22;\n"
      "  mad.lo.u32 %r21, %r21, 10, %r23;\n  mad.lo.u32 %r21, %r21, 10, %r24;\n"
      "  mad.lo.u32 %r21, %r21, 10, %r25;\n  mad.lo.u32 %r21, %r21, 10, %r26;\n"
      "  or.b32 %r27, %r27, %r28;\n  or.b32 %r27, %r27, %r29;\n"
      "  mad.lo.u32 %r21, %r21, 10, %r27;\n  st.shared.b32 [%r4], %r21;\n",
      1, false);
  add(cases, "atomics",
      "  atom.relaxed.cluster.shared::cluster.add.u32 %r21, [%r12+16], 3;\n"
      "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n"
      "  ld.shared::cluster.b32 %r22, [%r12+16];\n  st.shared.b32 [%r4], %r22;\n",
      1, false);
}

}  // namespace hone::differential
