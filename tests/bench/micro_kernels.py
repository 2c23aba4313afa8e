#!/usr/bin/env python3
"""Writes the micro-kernels of data/micro_kernels_h200.json as tasks: one machine resource each.

Usage: tests/bench/micro_kernels.py FOLDER [--held-out | --waits]     # only those, see there

Their times on a GPU, and the time model's beside them:
    build/release/bin/model_kernels FOLDER --measure cuda:0 --out tests/bench/data/micro_kernels_h200.json
    build/release/bin/model_kernels FOLDER tests/bench/data/micro_kernels_h200.json
"""
import json
import pathlib
import sys

FULL = 132 * 2048  # threads that an H200 holds at once
CTYPE = {"i32": "int", "f32": "float", "f64": "double", "u32": "unsigned"}
TASKS = {}


def task(name, code, sizes, checks, buffers, grid, block, args, **more):
    TASKS[name] = (dict(name=name, sizes=sizes, check_sizes=checks, buffers=buffers,
                        launches=[dict(kernel="k", grid=[grid], block=[block], args=args)], **more), code)


def step(name, rounds, body, type="i32", threads=FULL, block=256, before="", fill=None, out=None):
    """Each thread repeats `body` on its x and y. Four times a round, so that the loop costs little."""
    c = CTYPE[type]
    fill = fill or ({"integers": [1, 1000000]} if type in ("i32", "u32") else {"uniform": [0.5, 2.0]})
    code = f"""{before}
__global__ void k(const {c}* a, const {c}* b, {c}* out, int n, int rounds) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  {c} x = a[i], y = b[i];
  for (int r = 0; r < rounds; ++r) {{
#pragma unroll
    for (int u = 0; u < 4; ++u) {{ {body} }}
  }}
  out[i] = {out or "x"};
}}
"""
    buffers = [dict(name="a", type=type, shape=["N"], fill=fill), dict(name="b", type=type, shape=["N"], fill=fill),
               dict(name="out", type=type, shape=["N"], role="out")]
    more = {} if type in ("i32", "u32") else dict(tolerance=dict(rtol=1e-3, atol=1e-3))
    task(name, code, dict(N=threads, R=rounds), [dict(N=256, R=3), dict(N=320, R=2)], buffers,
         f"ceildiv(N,{block})", block, ["a", "b", "out", "N", "R"], **more)


def asm(text, *inputs):
    ins = ", ".join(f'"r"({i})' for i in inputs)
    return f'int t; asm volatile("{text}" : "=r"(t) : {ins}); x = t ^ (x + 1);'


# What PTX has one instruction for
step("add", 2048, "x = (x + y) ^ r;")
step("mad", 2048, "x = x * y + 7;")
step("fma", 2048, "x = x * 0.999f + y;", "f32")
step("predicate_logic", 512, """
    asm volatile("{.reg .pred p, q, s; setp.gt.s32 p, %0, %1; setp.lt.s32 q, %0, 77; xor.pred s, p, q;"
        "or.pred p, s, q; xor.pred q, p, s; and.pred s, p, q; xor.pred p, p, s; or.pred q, q, p;"
        "not.pred s, s; xor.pred q, q, s; xor.pred s, q, p; selp.s32 %0, %0, %1, s; add.s32 %0, %0, 3;}" : "+r"(x) : "r"(y));""")
step("vset4", 64, asm("vset4.s32.s32.lt %0, %1, %2, %1;", "x", "y"))
step("vavrg4", 64, asm("vavrg4.s32.s32.s32 %0, %1, %2, %1;", "x", "y"))
step("vabsdiff4", 64, asm("vabsdiff4.s32.s32.s32.add %0, %1, %2, %1;", "x", "y"))
step("vmin2", 64, asm("vmin2.s32.s32.s32 %0, %1, %2, %1;", "x", "y"))
step("vadd_sat", 256, asm("vadd.s32.s32.s32.sat %0, %1, %2;", "x", "y"))
step("sad", 1024, "x = __sad(x, y, 3) + (x >> 1);")
step("fns", 16, "x = __fns(x | 0x10101, x & 7, 2) + y;")
step("popc", 512, "x = __popc(x) + (x ^ y);")
step("bfind", 512, "x = __clz(x) + (x ^ y);")
step("brev", 512, "x = __brev(x) + y;")
step("prmt", 1024, "x = __byte_perm(x, y, 0x1234) + 1;")
step("bitfield", 512, 'int t; asm volatile("bfe.s32 %0, %1, %2, 7;" : "=r"(t) : "r"(x), "r"(y & 15));'
     ' asm volatile("bfi.b32 %0, %1, %2, 5, 9;" : "=r"(x) : "r"(t), "r"(x)); x += 3;')
step("divide", 128, "x = (x ^ 0x51234567) / (y | 1) + y;")
step("divide_64", 32, "long long w = (long long)x * 1000003; x = (int)(w / ((long long)y * 77773)) + y;")
step("multiply_high", 1024, "x = __mulhi(x, y) + x;")
step("multiply_64", 512, "long long w = ((long long)x << 20) + y; w = w * (w + 5); x = (int)(w >> 13);")
step("dp4a", 1024, "x = __dp4a(x, y, x);")
step("warp_sum", 256, "x = __reduce_add_sync(__activemask(), (unsigned)x) ^ y;")
step("vote", 512, "x = __ballot_sync(__activemask(), x > y) + x;")
step("match_any", 64, "x = __match_any_sync(__activemask(), x & 7) + y;")
step("shuffle", 512, "x = __shfl_xor_sync(__activemask(), x, 3) + y;")
step("sine", 64, "x = sinf(x) + y;", "f32")
step("sine_of_large", 8, "x = sinf(x * 1e7f) + y;", "f32")
step("exponential", 256, "x = expf(-x) + y;", "f32")
step("logarithm", 128, "x = logf(x) + y + 1.0f;", "f32")
step("power", 32, "x = powf(x, y) * 0.1f + 1.0f;", "f32")
step("tanh", 128, "x = tanhf(x) + y;", "f32")
step("error_function", 64, "x = erff(x) + y;", "f32")
step("float_divide", 128, "x = y / (x + 1.0f) + 1.0f;", "f32")
step("root", 128, "x = sqrtf(x) + y;", "f32")
step("fast_exponential", 512, "x = __expf(-x) + y;", "f32")
step("round_trip", 256, "x = (float)(int)(x * 1000.0f) * 0.001f + y;", "f32")
step("half_round_trip", 256, "x = __half2float(__float2half(x)) + y;", "f32", before="#include <cuda_fp16.h>")
step("double_fma", 512, "x = x * 0.999 + y;", "f64")
step("double_divide", 32, "x = y / (x + 1.0) + 1.0;", "f64")
step("double_exponential", 32, "x = exp(-x) + y;", "f64")

# Few warps: what waits for what
for name, body, kind, rounds in [
        ("few_fma", "x = x * 0.999f + y;", "f32", 4096), ("few_mad", "x = x * y + 7;", "i32", 4096),
        ("few_sine", "x = sinf(x) + y;", "f32", 512), ("few_divide", "x = (x ^ 0x51234567) / (y | 1) + y;", "i32", 512),
        ("few_float_divide", "x = y / (x + 1.0f) + 1.0f;", "f32", 512), ("few_root", "x = sqrtf(x) + y;", "f32", 512),
        ("few_exponential", "x = expf(-x) + y;", "f32", 1024), ("few_double", "x = x * 0.999 + y;", "f64", 2048),
        ("few_shuffle", "x = __shfl_xor_sync(__activemask(), x, 3) + y;", "i32", 1024),
        ("few_vset4", asm("vset4.s32.s32.lt %0, %1, %2, %1;", "x", "y"), "i32", 128),
        ("few_predicates", """asm volatile("{.reg .pred p, q, s; setp.gt.s32 p, %0, %1; setp.lt.s32 q, %0, 77; xor.pred s, p, q;"
        "or.pred p, s, q; xor.pred q, p, s; and.pred s, p, q; xor.pred p, p, s; or.pred q, q, p;"
        "selp.s32 %0, %0, %1, q; add.s32 %0, %0, 3;}" : "+r"(x) : "r"(y));""", "i32", 512)]:
    step(name, rounds, body, kind, threads=132 * 64, block=64)


def chase(name, words, steps, threads, block, stride):
    """A chain of loads: each says where the next is."""
    code = f"""
__global__ void k(const int* next, int* out, int words, int rounds) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int at = (int)((unsigned)i * {stride}u % (unsigned)words);
  for (int r = 0; r < rounds; ++r) at = next[at];
  out[i] = at;
}}
"""
    task(name, code, dict(W=words, R=steps, N=threads), [dict(W=5000, R=9, N=block), dict(W=4096, R=5, N=2 * block)],
         [dict(name="next", type="i32", shape=["W"], fill="permutation"),
          dict(name="out", type="i32", shape=["N"], role="out")], f"N/{block}", block, ["next", "out", "W", "R"],
         constraints=[f"N % {block} == 0"])


chase("chase_l2", 1 << 21, 256, 132 * 32, 32, 977)
chase("chase_dram", 1 << 26, 256, 132 * 32, 32, 977)
chase("chase_many", 1 << 26, 64, 132 * 2048, 256, 977)


def constant(name, index):
    code = f"""
__constant__ float table[4096] = {{{", ".join(f"{(i * 37 % 101) / 101:.3f}f" for i in range(4096))}}};
__global__ void k(const int* a, float* out, int n, int rounds) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
  int at = a[i];
  for (int r = 0; r < rounds; ++r) sum += table[({index}) & 4095];
  out[i] = sum * (float)at;
}}
"""
    task(name, code, dict(N=FULL, R=128), [dict(N=256, R=3), dict(N=301, R=2)],
         [dict(name="a", type="i32", shape=["N"], fill={"integers": [0, 4095]}),
          dict(name="out", type="f32", shape=["N"], role="out")], "ceildiv(N,256)", 256, ["a", "out", "N", "R"])


constant("constant_same", "r * 7")
constant("constant_two", "r * 7 + (threadIdx.x & 1) * 64")
constant("constant_each", "at + r * 7")
constant("constant_near", "(at & 127) + (r & 3) * 96")
constant("constant_eight", "(threadIdx.x & 7) * 32 + (r & 7)")


def local(name, words, spread, threads, rounds):
    code = f"""
__global__ void k(const int* a, float* out, int n, int rounds) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float t[{words}];
  int at = a[i];
  for (int w = 0; w < {words}; ++w) t[w] = (float)(w ^ at);
  float sum = 0.0f;
  for (int r = 0; r < rounds; ++r) {{
    int j = ({spread}) % {words};
    sum += t[j];
    t[j] = sum;
  }}
  out[i] = sum;
}}
"""
    task(name, code, dict(N=threads, R=rounds), [dict(N=256, R=7), dict(N=301, R=5)],
         [dict(name="a", type="i32", shape=["N"], fill={"integers": [0, 1000000]}),
          dict(name="out", type="f32", shape=["N"], role="out")], "ceildiv(N,256)", 256, ["a", "out", "N", "R"],
         tolerance=dict(rtol=1e-2, atol=1e-2))


local("local_same", 64, "r * 5 + n", FULL, 64)
local("local_each", 64, "at + r * 5", FULL, 64)
local("local_large", 1024, "at + r * 5", FULL // 4, 256)
local("local_few", 64, "at + r * 5", 132 * 64, 256)


def rows(name, count, columns, threads_per_row):
    code = f"""
__global__ void k(const float* a, float* out, int count, int columns) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int row = i / {threads_per_row}, lane = i % {threads_per_row};
  if (row >= count) return;
  float sum = 0.0f;
  for (int c = lane; c < columns; c += {threads_per_row}) sum += a[(size_t)row * columns + c];
  out[i] = sum;
}}
"""
    task(name, code, dict(M=count, C=columns), [dict(M=100, C=96), dict(M=65, C=77)],
         [dict(name="a", type="f32", shape=["M", "C"], fill={"uniform": [0, 1]}),
          dict(name="out", type="f32", shape=[f"M*{threads_per_row}"], role="out")],
         f"ceildiv(M*{threads_per_row},128)", 128, ["a", "out", "M", "C"], tolerance=dict(rtol=1e-3, atol=1e-3))


rows("rows_few", 4096, 4096, 1)
rows("rows_many", 131072, 512, 1)
rows("rows_of_8", 32768, 1024, 8)
rows("rows_short", 1 << 20, 24, 1)


def long_code(name, lines, rounds):
    """A loop whose body is so many multiply-adds, no two the same."""
    body = "\n".join(f"    x{i % 8} = x{i % 8} * {0.5 + i % 97 / 200:.3f}f + {i % 31 / 31 + 0.01:.3f}f;" for i in range(lines))
    code = f"""
__global__ void k(const float* a, float* out, int n, int rounds) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x0 = a[i], x1 = x0 + 1, x2 = x0 * 2, x3 = x0 - 1, x4 = x0 * 3, x5 = x0 * 0.5f, x6 = x0 + 4, x7 = x0 - 5;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {{
{body}
  }}
  out[i] = (x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7) * a[i];
}}
"""
    task(name, code, dict(N=FULL // 4, R=rounds), [dict(N=256, R=2), dict(N=301, R=1)],
         [dict(name="a", type="f32", shape=["N"], fill={"uniform": [0.5, 1]}),
          dict(name="out", type="f32", shape=["N"], role="out")], "ceildiv(N,256)", 256, ["a", "out", "N", "R"],
         tolerance=dict(rtol=1e-4, atol=1e-4))


long_code("code_16_kib", 1024, 64)
long_code("code_64_kib", 4096, 16)
long_code("code_112_kib", 7168, 10)
long_code("code_256_kib", 16384, 5)

LOCK = """
__device__ int held = 0;
__global__ void k(const int* a, int* total, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = i < n ? a[i] : 0;
  v = __reduce_add_sync(0xffffffff, (unsigned)v);
  if (threadIdx.x == 0) {
    while (atomicCAS(&held, 0, 1) != 0) {}
    __threadfence();
    volatile int* t = total;
    t[0] = t[0] + v;
    __threadfence();
    atomicExch(&held, 0);
  }
}
"""
COUNTERS = [dict(name="a", type="i32", shape=["N"], fill={"integers": [0, 100]}),
            dict(name="total", type="i32", shape=[1], role="inout", fill={"constant": 0})]
task("lock", LOCK, dict(N=32 * 4096), [dict(N=96), dict(N=200)], COUNTERS, "ceildiv(N,32)", 32, ["a", "total", "N"])
task("ticket", """
__global__ void k(const int* a, int* total, int* out, int n, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = 0;
  for (int r = 0; r < rounds; ++r) v += atomicAdd(total, a[i] + (v < 0)) >= 0;
  out[i] = v * a[i];
}
""", dict(N=32 * 1024, R=16), [dict(N=64, R=3), dict(N=96, R=2)],
     COUNTERS + [dict(name="out", type="i32", shape=["N"], role="out")], "N/32", 32, ["a", "total", "out", "N", "R"],
     constraints=["N % 32 == 0"])
task("compare_and_swap", """
__global__ void k(const int* a, int* total, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || threadIdx.x % 32 != 0) return;
  int old = *(volatile int*)total, seen;
  do { seen = old; old = atomicCAS(total, seen, seen + a[i]); } while (old != seen);
}
""", dict(N=32 * 2048), [dict(N=96), dict(N=200)], COUNTERS, "ceildiv(N,32)", 32, ["a", "total", "N"])


# Written and modelled before they were measured; nothing in the model was chosen with them in view.
HELD_OUT = len(TASKS)
step("vsub4", 64, asm("vsub4.s32.s32.s32.sat %0, %1, %2, %1;", "x", "y"))
step("vset2", 64, asm("vset2.s32.s32.ge %0, %1, %2, %1;", "x", "y"))
step("sine_cosine", 64, "float s, c; sincosf(x, &s, &c); x = s * c + y;", "f32")
step("remainder", 128, "x = (x ^ 0x51234567) % (y | 1) + y;")
step("log1p_double", 16, "x = log1p(x) + y;", "f64")
step("cube_root", 64, "x = cbrtf(x) + y;", "f32")
step("half_fma", 512, "__half2 h = __floats2half2_rn(x, y); h = __hfma2(h, h, h); x = __low2float(h) * 0.1f + y;", "f32",
     before="#include <cuda_fp16.h>")
step("few_power", 256, "x = powf(x, y) * 0.1f + 1.0f;", "f32", threads=132 * 64, block=64)
step("few_logic", 2048, "x = (x ^ y) + (x >> 3); x = x > y ? x - y : x;", threads=132 * 32, block=32)
step("half_full_mad", 1024, "x = x * y + 7; x ^= x >> 5;", threads=132 * 256, block=128)
constant("constant_four", "(threadIdx.x & 3) * 200 + r")
local("local_32", "32", "at + r * 3", 132 * 512, 128)
rows("rows_wide", 16384, 2048, 4)
long_code("code_96_kib", 6144, 12)


# What a warp waits for (--waits): modelled before they were measured.
WAITS = len(TASKS)
IN_OUT = [dict(name="a", type="i32", shape=["N"], fill={"integers": [1, 1000000]}),
          dict(name="out", type="i32", shape=["N"], role="out")]


def waits(name, body, threads, block, rounds, before="", shared="", kind="i32", cluster=0, **more):
    """Whole blocks, in clusters or not; `body` is a round, on x."""
    dims = f"__cluster_dims__({cluster}, 1, 1) " if cluster else ""
    c = CTYPE[kind]
    code = f"""{before}
__global__ void {dims}k(const {c}* a, {c}* out, int n, int rounds) {{
  {shared}
  int t = threadIdx.x, i = blockIdx.x * {block} + t;
  {c} x = a[i];
  __syncthreads();
  for (int r = 0; r < rounds; ++r) {{
    {body}
  }}
  out[i] = x;
}}
"""
    buffers = [dict(b, type=kind, **({} if kind == "i32" or "fill" not in b else {"fill": {"uniform": [0.5, 2]}})) for b in IN_OUT]
    if kind != "i32":
        more.setdefault("tolerance", dict(rtol=1e-3, atol=1e-3))
    unit = (cluster or 1) * block
    task(name, code, dict(N=threads, R=rounds), [dict(N=unit, R=3), dict(N=2 * unit, R=2)], buffers,
         f"N/{block}", block, ["a", "out", "N", "R"], constraints=[f"N % {unit} == 0"], **more)


# One of the warps works between two barriers; each in turn.
CHAIN = "for (int u = 0; u < 32; ++u) s = s * 77 + (s >> 7);"
waits("barrier_one_thread", f"if (t == 0) {{ int s = v; {CHAIN} v = s; }} __syncthreads(); x += v; __syncthreads();",
      132 * 1024, 1024, 128, shared="__shared__ int v; if (threadIdx.x == 0) v = a[blockIdx.x];")
waits("barrier_turns", f"if (t / 32 == r % 16) {{ int s = v[t % 32] + x; {CHAIN} v[t % 32] = x = s; }} __syncthreads();",
      132 * 2048, 512, 256, shared="__shared__ int v[32]; if (threadIdx.x < 32) v[threadIdx.x] = 0;")
waits("barrier_named", f"if (t < 64) {{ int s = x; {CHAIN} x = s; }} asm volatile(\"bar.sync 1, 256;\" ::: \"memory\");",
      132 * 512, 256, 256)


def copy_chain(name, words, threads, block, rounds):
    code = f"""
__global__ void k(const int* next, int* out, int words, int rounds) {{
  __shared__ int slot[{block}];
  int i = blockIdx.x * {block} + threadIdx.x;
  int at = (int)((unsigned)i * 977u % (unsigned)words);
  unsigned to = (unsigned)__cvta_generic_to_shared(slot + threadIdx.x);
  for (int r = 0; r < rounds; ++r) {{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(next + at) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    at = slot[threadIdx.x];
  }}
  out[i] = at;
}}
"""
    task(name, code, dict(W=words, R=rounds, N=threads), [dict(W=5000, R=9, N=block), dict(W=4096, R=5, N=2 * block)],
         [dict(name="next", type="i32", shape=["W"], fill="permutation"),
          dict(name="out", type="i32", shape=["N"], role="out")], f"N/{block}", block, ["next", "out", "W", "R"],
         constraints=[f"N % {block} == 0"])


copy_chain("copy_chain_l1", 4096, 132 * 32, 32, 1024)
copy_chain("copy_chain_l2", 1 << 21, 132 * 32, 32, 256)
copy_chain("copy_chain_dram", 1 << 26, 132 * 32, 32, 128)


def bulk(name, bytes, stages, rounds, blocks):
    """One warp a block: tiles of so many bytes by the copy engine, so many of them under way."""
    words = bytes // 4
    code = f"""
__global__ void k(const float* a, float* out, int n, int rounds) {{
  __shared__ __align__(128) float tile[{stages}][{words}];
  __shared__ __align__(8) unsigned long long full[{stages}];
  const float* from = a + (size_t)blockIdx.x * rounds * {words};
  unsigned bar = (unsigned)__cvta_generic_to_shared(full), to = (unsigned)__cvta_generic_to_shared(&tile[0][0]);
  if (threadIdx.x == 0) {{
    for (int s = 0; s < {stages}; ++s) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bar + s * 8) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }}
  __syncthreads();
  float x = 0;
  for (int r = 0; r < rounds + {stages} - 1; ++r) {{
    if (threadIdx.x == 0 && r < rounds) {{
      int s = r % {stages};
      asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], {bytes};" ::"r"(bar + s * 8) : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], {bytes}, [%2];"
                   ::"r"(to + s * {bytes}), "l"(from + (size_t)r * {words}), "r"(bar + s * 8) : "memory");
    }}
    int q = r - {stages - 1};
    if (q < 0) continue;
    unsigned done = 0, parity = q / {stages} & 1;
    while (!done)
      asm volatile("{{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}}"
                   : "=r"(done) : "r"(bar + q % {stages} * 8), "r"(parity) : "memory");
    for (int w = threadIdx.x; w < {words}; w += 32) x += tile[q % {stages}][w];
    __syncwarp();
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }}
  out[blockIdx.x * 32 + threadIdx.x] = x;
}}
"""
    task(name, code, dict(B=blocks, R=rounds), [dict(B=3, R=9), dict(B=2, R=6)],
         [dict(name="a", type="f32", shape=["B", "R", words], fill={"uniform": [0, 1]}),
          dict(name="out", type="f32", shape=["32*B"], role="out")], "B", 32, ["a", "out", "32*B", "R"],
         tolerance=dict(rtol=1e-3, atol=1e-3))


bulk("bulk_one_of_1_kib", 1024, 1, 512, 132)
bulk("bulk_one_of_8_kib", 8192, 1, 128, 132)
bulk("bulk_four_of_2_kib", 2048, 4, 512, 132)

# Sums in shared memory that are loops of compare-and-swaps
ONE = "if (threadIdx.x == 0) v[0] = 0;"
waits("shared_float_one_warp", "atomicAdd(v, x); x += 0.5f;", 132 * 32, 32, 128, shared=f"__shared__ float v[1]; {ONE}",
      kind="f32")
waits("shared_float_block", "atomicAdd(v, x); x += 0.5f;", 132 * 2048, 256, 16, shared=f"__shared__ float v[1]; {ONE}",
      kind="f32")
waits("shared_float_each", "atomicAdd(v + t, x); x += 0.5f;", 132 * 2048, 256, 64, shared="__shared__ float v[256]; v[threadIdx.x] = 0;",
      kind="f32")
waits("shared_float_four", "atomicAdd(v + t % 4, x); x += 0.5f;", 132 * 2048, 256, 32,
      shared="__shared__ float v[4]; if (threadIdx.x < 4) v[threadIdx.x] = 0;", kind="f32")
waits("shared_double_block", "atomicAdd(v, (double)x); x += 3;", 132 * 2048, 256, 16, shared=f"__shared__ double v[1]; {ONE}")
waits("shared_long_block", "atomicAdd(v, (unsigned long long)x); x += 3;", 132 * 2048, 256, 16,
      shared=f"__shared__ unsigned long long v[1]; {ONE}")

# Fences and sleeps
waits("fence_alone", "x = x * 77 + r; __threadfence();", 132 * 32, 32, 512)
waits("fence_few", "out[i] = x = x * 77 + r; __threadfence();", 132 * 32, 32, 512)
waits("fence_many", "out[i] = x = x * 77 + r; __threadfence();", 132 * 2048, 256, 256)
waits("fence_block", "out[i] = x = x * 77 + r; __threadfence_block();", 132 * 512, 256, 256)
waits("fence_system", "out[i] = x = x * 77 + r; __threadfence_system();", 132 * 512, 256, 128)
waits("sleep_100", "x = x * 77 + r; __nanosleep(100);", 132 * 32, 32, 512)
waits("sleep_1000", "x = x * 77 + r; __nanosleep(1000);", 132 * 1024, 1024, 128)
waits("sleep_20000", "x = x * 77 + r; __nanosleep(20000);", 132 * 1024, 1024, 16)

# One slice of the L2. Loads between them, or the stores of a warp become one.
waits("hot_word", "if (t % 32 == 0) *(volatile int*)flag = 1; x += *(volatile const int*)(a + i);", 132 * 2048, 256, 128, before="__device__ int flag[512];")
waits("hot_line", "((volatile int*)flag)[t % 32] = 1; x += *(volatile const int*)(a + i);", 132 * 2048, 256, 128, before="__device__ int flag[512];")
waits("hot_lines", "((volatile int*)flag)[t / 32 % 8 * 32 + t % 32] = 1; x += *(volatile const int*)(a + i);", 132 * 2048, 256, 128, before="__device__ int flag[512];")


def prefetch(name, lines, rounds):
    code = """
__global__ void k(const int* a, const float* table, int* out, int n, int lines, int rounds) {
  int i = blockIdx.x * 256 + threadIdx.x;
  unsigned x = a[i];
  for (int r = 0; r < rounds; ++r) {
    x = x * 1664525u + 1013904223u;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(table + (size_t)(x >> 4) % (unsigned)lines * 32));
  }
  out[i] = (int)x;
}
"""
    task(name, code, dict(N=132 * 2048, L=lines, R=rounds), [dict(N=256, L=70, R=3), dict(N=512, L=99, R=2)],
         [IN_OUT[0], dict(name="table", type="f32", shape=["L", 32]), IN_OUT[1]], "N/256", 256,
         ["a", "table", "out", "N", "L", "R"], constraints=["N % 256 == 0"])


prefetch("prefetch_near", 1 << 16, 64)
prefetch("prefetch_far", 1 << 22, 64)

# Blocks that wait for the one before, or look back at those before
POLLS = {
    "fence": ("while ((m = *(volatile int*)(said + b - 1)) < 0) {}", "__threadfence(); *(volatile int*)(said + b) = m;"),
    "sleep": ("while ((m = *(volatile int*)(said + b - 1)) < 0) __nanosleep(20);",
              "__threadfence(); *(volatile int*)(said + b) = m;"),
    "release": ('do asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(m) : "l"(said + b - 1) : "memory"); while (m < 0);',
                'asm volatile("st.release.gpu.s32 [%0], %1;" ::"l"(said + b), "r"(m) : "memory");'),
    "atomic": ("while ((m = atomicAdd(said + b - 1, 0)) < 0) {}", "__threadfence(); atomicExch(said + b, m);"),
}


def in_one_pass(name, code, block, items, n, blocked=False):
    """The maximum of all tiles of block * items before an element's own, and itself; `said` has 8 B for each tile.
    blocked: a thread's elements lie side by side, so that its loads and stores are not coalesced."""
    at = f"(b * {block} + t) * {items} + q" if blocked else f"(b * {items} + q) * {block} + t"
    code = f"""
__global__ void clear(long long* said, int n) {{
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) said[i] = -1;
}}
__global__ void k(const int* a, long long* words, int* out, int n) {{
  __shared__ int warps[33];
  int* said = (int*)words;
  int b = blockIdx.x, t = threadIdx.x, lane = t % 32, v[{items}], m = 0;
  for (int q = 0; q < {items}; ++q) v[q] = a[{at}], m = max(m, v[q]);
  m = __reduce_max_sync(~0u, m);
  if (lane == 0) warps[t / 32] = m;
  __syncthreads();
  int all = 0;
  for (int w = 0; w < {block} / 32; ++w) all = max(all, warps[w]);
  m = 0;
  {code}
  __syncthreads();
  for (int q = 0; q < {items}; ++q) out[{at}] = max(v[q], warps[32]);
}}
"""
    tile = block * items
    spec = dict(name=name, sizes=dict(N=n), check_sizes=[dict(N=3 * tile), dict(N=37 * tile)], constraints=[f"N % {tile} == 0"],
                buffers=[dict(name="a", type="i32", shape=["N"], fill={"integers": [0, 1000000]}),
                         dict(name="said", type="i64", shape=[f"N/{tile}"], role="scratch"),
                         dict(name="out", type="i32", shape=["N"], role="out")],
                launches=[dict(kernel="clear", grid=[f"ceildiv(N,{256 * tile})"], block=[256], args=["said", f"N/{tile}"]),
                          dict(kernel="k", grid=[f"N/{tile}"], block=[block], args=["a", "said", "out", "N"])])
    TASKS[name] = spec, code


for how, (poll, publish) in POLLS.items():
    in_one_pass(f"chain_{how}", f"if (t == 0) {{ if (b > 0) {{ {poll} }} warps[32] = m; m = max(m, all); {publish} }}", 256, 4, 2 << 20)
in_one_pass("chain_of_warps", "if (t == 0) {{ if (b > 0) {{ {} }} warps[32] = m; m = max(m, all); {} }}".format(*POLLS["fence"]), 32, 4, 1 << 20)
in_one_pass("chain_of_large_blocks", "if (t == 0) {{ if (b > 0) {{ {} }} warps[32] = m; m = max(m, all); {} }}".format(*POLLS["fence"]),
            1024, 16, 64 << 20)
# A word has a value and how far it reaches: 1, its own tile's; 2, all so far.
SAY = "*(volatile long long*)(words + b) = (long long)"
LOOK = """if (t < 32) {
    if (t == 0) %s (b > 0 ? 1 : 2) << 32 | all;
    for (int at = b - 1; at >= 0;) {
      long long w;
      do w = at - lane >= 0 ? *(volatile long long*)(words + at - lane) : 2LL << 32; while (__any_sync(~0u, w < 0));
      unsigned whole = __ballot_sync(~0u, w >> 32 == 2);
      int last = whole ? __ffs(whole) - 1 : 31;
      m = max(m, __reduce_max_sync(~0u, lane <= last ? (int)w : 0));
      at = whole ? -1 : at - 32;
    }
    if (t == 0) { if (b > 0) %s 2 << 32 | max(m, all); warps[32] = m; }
  }""" % (SAY, SAY)
in_one_pass("look_back_large_tiles", LOOK, 256, 16, 64 << 20)
in_one_pass("look_back_tiles_of_1024", LOOK, 256, 4, 64 << 20)
in_one_pass("look_back_small_tiles", LOOK, 128, 2, 16 << 20)
in_one_pass("look_back_few_blocks", LOOK, 1024, 16, 4 << 20)
LOOK_ALONE = """if (t == 0) {
    %s (b > 0 ? 1 : 2) << 32 | all;
    for (int at = b - 1; at >= 0;) {
      long long w;
      while ((w = *(volatile long long*)(words + at)) < 0) {}
      m = max(m, (int)w);
      at = w >> 32 == 2 ? -1 : at - 1;
    }
    if (b > 0) %s 2 << 32 | max(m, all);
    warps[32] = m;
  }""" % (SAY, SAY)
in_one_pass("look_back_one_by_one", LOOK_ALONE, 256, 4, 16 << 20)
# Nobody waits; lanes store four words, or sixteen, one after another
in_one_pass("blocked_4", "if (t == 0) warps[32] = all;", 256, 4, 64 << 20, blocked=True)
in_one_pass("blocked_16", "if (t == 0) warps[32] = all;", 256, 16, 64 << 20, blocked=True)


# Clusters
JOIN = 'asm volatile("barrier.cluster.arrive.aligned;\\nbarrier.cluster.wait.aligned;" ::: "memory");'
for size in (2, 8):
    waits(f"cluster_barrier_{size}", f"x = x * 77 + r; {JOIN}", 128 * 256, 256, 512,
          cluster=size)
    other = (f"unsigned other; {{ unsigned own = (unsigned)__cvta_generic_to_shared(v); asm volatile(\"mapa.shared::cluster.u32 %0, %1, %2;\""
             f" : \"=r\"(other) : \"r\"(own), \"r\"((blockIdx.x + 1) % {size})); }} v[threadIdx.x] = threadIdx.x * 9 % 256; {JOIN}")
    waits(f"cluster_barrier_store_{size}", f'asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(other + 4 * t), "r"(x) : "memory");'
          f" {JOIN} x += v[t]; {JOIN}", 128 * 256, 256, 256, shared=f"__shared__ int v[256]; {other}",
          cluster=size)
    waits(f"remote_chain_{size}", 'asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(at) : "r"(other + 4 * at) : "memory"); x += at;'
          f" if (r == rounds - 1) {JOIN}", 128 * 32, 32, 512,
          shared=f"__shared__ int v[256]; for (int q = threadIdx.x; q < 256; q += 32) v[q] = q * 9 % 256; {other.replace('v[threadIdx.x] = threadIdx.x * 9 % 256;', '')} int at = threadIdx.x;",
          cluster=size)
    for width, type, sum in (("u32", "unsigned", "w"), ("v4.u32", "uint4", "w.x + w.y + w.z + w.w")):
        load = ('asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(w) : "r"(from) : "memory");' if width == "u32" else
                'asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w) : "r"(from) : "memory");')
        many = other.replace("v[threadIdx.x] = threadIdx.x * 9 % 256;", "for (int q = threadIdx.x; q < 4096; q += 256) v[q] = q;")
        waits(f"remote_{'words' if width == 'u32' else 'vectors'}_{size}",
              f"{type} w; unsigned from = other + (unsigned)(t + r * 32) % {4096 if width == 'u32' else 1024} * {4 if width == 'u32' else 16}; {load} x += {sum};"
              f" if (r == rounds - 1) {JOIN}", 132 * 1024, 256, 256, shared=f"__shared__ __align__(16) int v[4096]; {many}",
              cluster=size)

# Long code, few warps
for name, lines, rounds, threads, block in [("code_few_48_kib", 3072, 32, 132 * 32, 32), ("code_few_96_kib", 6144, 16, 132 * 32, 32),
                                            ("code_few_256_kib", 16384, 8, 132 * 32, 32), ("code_four_warps_256_kib", 16384, 8, 132 * 128, 128),
                                            ("code_eight_warps_96_kib", 6144, 16, 132 * 256, 256)]:
    long_code(name, lines, rounds)
    header, code = TASKS[name]
    header.update(sizes=dict(N=threads, R=rounds))
    header["launches"][0].update(grid=[f"ceildiv(N,{block})"], block=[block])

# A table of jumps, on which all lanes agree, in a loop of logic
WAYS = ["add.u32 %0, %0, %1;", "mad.lo.u32 %0, %0, %1, 7;", "popc.b32 %0, %0;", "xor.b32 %0, %0, %1;", "shl.b32 %0, %0, 3;",
        "brev.b32 %0, %0;", "mul.lo.u32 %0, %0, %1;", "or.b32 %0, %0, 77;"]
step("jump_table", 256, 'asm volatile("{.reg .u32 t; ways: .branchtargets ' + ", ".join(f"W{q}" for q in range(8)) + "; and.b32 t, %2, 7; brx.idx t, ways; "
     + " ".join(f"W{q}: {way} bra END;" for q, way in enumerate(WAYS)) + ' END:}" : "+r"(x) : "r"(y), "r"(n + r));')


def table_in_l1(name, words, block):
    code = f"""
__global__ void k(const int* a, const float* table, float* out, int n, int words) {{
  int i = blockIdx.x * {block} + threadIdx.x;
  if (i >= n) return;
  unsigned h = a[i];
  float s = 0;
#pragma unroll
  for (int q = 0; q < 16; ++q) h = h * 1664525u + 1013904223u, s += __ldg(table + (h >> 8) % (unsigned)words);
  out[i] = s;
}}
"""
    task(name, code, dict(N=1 << 20, W=words), [dict(N=300, W=90), dict(N=131, W=70)],
         [IN_OUT[0], dict(name="table", type="f32", shape=["W"]), dict(name="out", type="f32", shape=["N"], role="out")],
         f"ceildiv(N,{block})", block, ["a", "table", "out", "N", "W"], tolerance=dict(rtol=1e-3, atol=1e-3))


table_in_l1("table_16_kib", 4096, 64)
table_in_l1("table_64_kib", 16384, 128)
table_in_l1("table_512_kib", 131072, 256)

# Launches that follow each other, of what fits the L2 and of next to nothing
for name, n in (("launches_small", 16384), ("launches_l2", 1 << 20)):
    task(name, """
__global__ void k(const float* a, float* out, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) out[i] = a[i] * 0.5f + 1.0f;
}
""", dict(N=n), [dict(N=300), dict(N=131)],
         [dict(name="a", type="f32", shape=["N"]), dict(name="s", type="f32", shape=["N"], role="scratch"),
          dict(name="out", type="f32", shape=["N"], role="out")], "ceildiv(N,256)", 256, ["a", "out", "N"],
         tolerance=dict(rtol=1e-3, atol=1e-3))
    launch = TASKS[name][0]["launches"][0]
    chain = ["a"] + ["s", "out"] * 8
    TASKS[name][0]["launches"] = [dict(launch, args=[chain[q], chain[q + 1], "N"]) for q in range(16)]

# Vector loads from shared memory of which lanes ask for the same
for width, unit in ((2, 8), (4, 16)):
    for name, place in (("each", "lane"), ("pairs", "lane / 2"), ("rows_of_8", "lane / 8"), ("columns_of_8", "lane % 8"),
                        ("columns_of_16", "lane % 16"), ("squares", "lane % 2 + lane / 4 * 2")):
        registers = ", ".join(f"%{q}" for q in range(width))
        loads = "".join(f"""
    {{ float w[{width}];
      asm volatile("ld.volatile.shared.v{width}.f32 {{{registers}}}, [%{width}];" : {", ".join(f'"=f"(w[{q}])' for q in range(width))} : "r"(at + {unit * 32 * q}) : "memory");
      x += w[0]; }}""" for q in range(16))
        waits(f"shared_v{width}_{name}", loads, 132 * 1024, 256, 256, kind="f32",
              shared=f"__shared__ __align__(16) float v[{16 * 32 * width}]; for (int q = threadIdx.x; q < {16 * 32 * width}; q += 256) v[q] = q * 0.001f;"
                     f" int lane = threadIdx.x % 32; unsigned at = (unsigned)__cvta_generic_to_shared(v) + ({place}) * {unit};")

# Loops of multiply-adds on registers, about as long as the nearest instruction cache holds, of few warps
for kib in (24, 32, 36, 40, 48, 64, 96):
    for warps in (8, 16):
        names = [f"x{q}" for q in range(16)]
        lines = "\n".join(f"    {names[q % 16]} = {names[q % 16]} * y + z;" for q in range(kib * 64 - 64))
        waits(f"loop_{kib}_kib_{warps}_warps", lines + "\n    x += " + " + ".join(names) + ";", 132 * 32 * warps, 32 * warps, 3072 // kib, kind="f32",
              shared="float z = a[threadIdx.x % 7] * 0.1f, y = 0.9f + a[threadIdx.x % 3] * 0.01f; float "
                     + ", ".join(f"{v} = {q + 1}.0f * z" for q, v in enumerate(names)) + ";")

# One block of many has a long way to go
task("one_slow_block", """
__global__ void k(const int* a, int* out, int* last, int n, int rounds) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) out[i] = a[i] * 3;
  if (blockIdx.x == gridDim.x * 3 / 7 && threadIdx.x == 0) {
    unsigned h = 7;
    for (int r = 0; r < rounds; ++r) h = (h ^ (unsigned)a[r]) * 16777619u, h ^= h >> 13;
    last[0] = (int)h;
  }
}
""", dict(N=1 << 22, R=8192), [dict(N=3000, R=700), dict(N=1031, R=131)],
     IN_OUT + [dict(name="last", type="i32", shape=[1], role="out")], "ceildiv(N,256)", 256, ["a", "out", "last", "N", "R"],
     constraints=["R <= N"])


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    every = list(TASKS.items())
    chosen = (every[HELD_OUT:WAITS] if "--held-out" in sys.argv else
              every[WAITS:] if "--waits" in sys.argv else every)
    for name, (header, code) in chosen:
        (folder / f"{name}.cu").write_text(f"/* hone\n{json.dumps(header, indent=1)}\n*/\n{code.lstrip()}")
    print(len(chosen), "tasks")


if __name__ == "__main__":
    main()
