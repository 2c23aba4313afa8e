// The one definition of buffer contents, with formula_contents.h and formula_related.h, and with
// formula_compare.h of element comparison, for CPU and GPU alike: g++ compiles all, and their text
// is embedded for NVRTC (see kernels.cu). So: no includes, only integer operations and single IEEE
// operations on double (built with contraction off on both sides), so that the bits agree. The
// includer defines HONE_FN, and HONE_LARGE_FN of a function too large for a copy at each call.
//
// Contents of element `index` of a buffer depend on (key, index, fill, type) only, with
// key = hone_key(seed, hash of the buffer's name): any element can be made alone, in any order.

typedef unsigned long long hone_u64;
typedef long long hone_i64;
typedef unsigned int hone_u32;

// As in candidates/scalar_type.h.
enum {
  HONE_F32,
  HONE_F64,
  HONE_F16,
  HONE_BF16,
  HONE_E4M3,
  HONE_E5M2,
  HONE_I32,
  HONE_I64,
  HONE_I8,
  HONE_U8,
  HONE_U32,
  HONE_U64,
  HONE_BOOL
};
enum {
  HONE_UNIFORM,
  HONE_NORMAL,
  HONE_INTEGERS,
  HONE_CONSTANT,
  HONE_IOTA,
  HONE_FILE,  // not made here
  HONE_TAILS,
  HONE_EITHER,
  HONE_EDGES,
  HONE_MULTIPLES,
  HONE_SORTED,
  HONE_PERMUTATION,
  HONE_ONE_HOT,
  HONE_LOWER_TRIANGLE,
  HONE_UPPER_TRIANGLE,
  HONE_EQUAL,
  HONE_FALLING,
  HONE_RUNS,
  HONE_SPARSE,
  HONE_TIES
};

// Forms of rows that keep a promise. Sorted: a power curve, a few jumps between flat runs, one step
// of half the way, all at one end; every form keeps the order and both ends. Permutations: as they
// are numbered, the other way round, neighbours exchanged, moved on by some. One-hot: all first,
// all last, all at one place, along the diagonal. Triangles have the first two: a strong element
// beside the diagonal, or anywhere in the row.
enum { HONE_PLAIN, HONE_CURVE, HONE_JUMPS, HONE_ONE_STEP, HONE_ONE_END };
// Integers at edges: keys that differ in few bits, see hone_alike.
enum { HONE_ALIKE = 1 };
// Forms of ties: the first two of each row, of each column, every element, none.
enum { HONE_TIES_OF_ROWS, HONE_TIES_OF_COLUMNS, HONE_TIES_EVERYWHERE, HONE_NO_TIES };

// How random elements hang on one another. Of two buffers: the same, mirrored in the middle of the
// range (minus it, where that is zero), the same rows at other places. Floats are so in half of
// the rows only, as what is nothing but zero has no size to measure an error by. Of one buffer:
// many equal rows, a period along the row, high and low in turns, high at equal distances alone,
// and of integers a sequence of equal steps. Of a sequence: the same in another order. A vector's
// rows are pieces of 64. Nearly: floats are the same but for their last bits; integers are
// mirrored, with one more at one place of each row, so that what carries over does so for long.
// Half of such rows of floats are near one of the first four, in both buffers, so that many
// differences are small; and of half of them, where a type has 24 bits or more, up to eight or
// eleven of the last bits differ. Rare: all elements of a row are equal, but for one to three at
// random places, or for 4, 8, 16 and so on up to about half of them. In every second row, from the
// first on, they are 0, in the others one of the ends; otherwise: in the others 0. Strided: every
// second row has a shape instead; see hone_shape. Multiples of: an element is a multiple of one of
// another buffer's, or next to one; floats are so in half of the rows only. Repeated: as the same,
// and with one period along the rows: three, or in another form five to thirteen. Divisors: f32 of
// which the rounded reciprocal, times the number itself, is less than one, so that a quotient is
// not what it gives; integers of which half are small, so that quotients are large, and the others
// have such reciprocals.
enum {
  HONE_NO_PATTERN,
  HONE_SAME,
  HONE_MIRRORED,
  HONE_ROWS_MOVED,
  HONE_FEW_ROWS,
  HONE_PERIODIC,
  HONE_ZIGZAG,
  HONE_PROGRESSION,
  HONE_PERMUTED,
  HONE_STRIDED,
  HONE_NEARLY,
  HONE_RARE,
  HONE_RARE_OTHERWISE,
  HONE_MULTIPLES_OF,
  HONE_REPEATED,
  HONE_DIVISORS
};

struct hone_fill {
  int kind;
  int type;
  int through;  // a floating type that a value is rounded to first; -1: none
  int tf32;     // 1: of F32 and F64, the value is rounded to TF32 last
  hone_u64 key;
  double a, b, step;
  int form;                // HONE_PLAIN, or another one of its kind
  int whole;               // iota: of integers that `low` and `span` hold
  hone_u64 low, span;      // integer types: the least value and how many there are, 0 for 2^64;
                           // constant: the value; iota: start and step
  hone_u64 width, height;  // the last extent, and the one before it
  hone_u64 count;          // elements
  int pattern;
  hone_u64 other;  // the key of the buffer that a pattern relates this one to
  hone_u64 group;  // a key that is the same for all buffers
  hone_u64 own;    // this buffer's key, also where another one's contents are made
};

// All that a kernel for one buffer is told. On a GPU, functions take up to 128 bytes in registers:
// a fill that is larger costs five times as much.
struct hone_contents : hone_fill {
  // Of the buffer that has this one's divisors: its ends as above, and its elements.
  double other_a, other_b;
  hone_u64 other_low, other_span, other_count;
};

// Finaliser of SplitMix64 (Steele, Lea, Flood 2014).
HONE_FN hone_u64 hone_mix(hone_u64 x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9ULL;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBULL;
  x ^= x >> 31;
  return x;
}

HONE_FN hone_u64 hone_key(hone_u64 seed, hone_u64 name_hash) {
  return hone_mix(hone_mix(seed + 0x9E3779B97F4A7C15ULL) ^ name_hash);
}

HONE_FN hone_u64 hone_bits(hone_u64 key, hone_u64 index) {
  return hone_mix(hone_mix(key + index * 0x9E3779B97F4A7C15ULL) + key);
}

HONE_FN double hone_floor(double v) {
  if (!(v > -4503599627370496.0 && v < 4503599627370496.0)) return v;
  double whole = (double)(hone_i64)v;
  return whole > v ? whole - 1.0 : whole;
}

HONE_FN hone_i64 hone_to_i64(double v) {
  if (!(v > -9.2e18)) return -9200000000000000000LL;
  if (v > 9.2e18) return 9200000000000000000LL;
  return (hone_i64)v;
}

HONE_FN int hone_is_float(int type) { return type <= HONE_E5M2; }

HONE_FN int hone_size(int type) {
  switch (type) {
    case HONE_F64:
    case HONE_I64:
    case HONE_U64:
      return 8;
    case HONE_F32:
    case HONE_I32:
    case HONE_U32:
      return 4;
    case HONE_F16:
    case HONE_BF16:
      return 2;
    default:
      return 1;
  }
}

// Round to nearest even at every step.
HONE_FN hone_u32 hone_f32_to_f16(hone_u32 f) {
  hone_u32 sign = (f >> 16) & 0x8000U, magnitude = f & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return sign | 0x7E00U;
  if (magnitude >= 0x477FF000U) return sign | 0x7C00U;  // rounds to infinity
  if (magnitude < 0x33000001U) return sign;             // rounds to zero
  hone_u32 exponent = magnitude >> 23, mantissa = (magnitude & 0x7FFFFFU) | 0x800000U;
  if (exponent < 113U) {  // subnormal half
    hone_u32 shift = 126U - exponent;
    hone_u32 kept = mantissa >> shift, rest = mantissa & ((1U << shift) - 1U),
             half = 1U << (shift - 1U);
    return sign | (kept + ((rest > half || (rest == half && (kept & 1U))) ? 1U : 0U));
  }
  hone_u32 bits = ((exponent - 112U) << 10) | ((mantissa >> 13) & 0x3FFU);
  hone_u32 rest = mantissa & 0x1FFFU;
  return sign | (bits + ((rest > 0x1000U || (rest == 0x1000U && (bits & 1U))) ? 1U : 0U));
}

HONE_FN hone_u32 hone_f16_to_f32(hone_u32 h) {
  hone_u32 sign = (h & 0x8000U) << 16, exponent = (h >> 10) & 0x1FU, mantissa = h & 0x3FFU;
  if (exponent == 31U) return sign | 0x7F800000U | (mantissa << 13);
  if (exponent != 0U) return sign | ((exponent + 112U) << 23) | (mantissa << 13);
  if (mantissa == 0U) return sign;
  exponent = 113U;
  while (!(mantissa & 0x400U)) {
    mantissa <<= 1;
    --exponent;
  }
  return sign | (exponent << 23) | ((mantissa & 0x3FFU) << 13);
}

HONE_FN hone_u32 hone_f32_to_bf16(hone_u32 f) {
  if ((f & 0x7FFFFFFFU) > 0x7F800000U) return (f >> 16) | 0x40U;
  return (f + 0x7FFFU + ((f >> 16) & 1U)) >> 16;
}

// To e4m3 (three bits of mantissa, the least exponent -6) or e5m2 (two, -14), as
// cvt.rn.satfinite does: what is too large, and infinity, becomes the largest number.
HONE_FN hone_u32 hone_f32_to_fp8(hone_u32 f, int type) {
  hone_u32 sign = (f >> 24) & 0x80U, magnitude = f & 0x7FFFFFFFU;
  hone_u32 dropped = type == HONE_E4M3 ? 20U : 21U, least = type == HONE_E4M3 ? 121U : 113U;
  hone_u32 largest = type == HONE_E4M3 ? 0x7EU : 0x7BU;
  if (magnitude > 0x7F800000U) return 0x7FU;
  hone_u32 exponent = magnitude >> 23, mantissa = (magnitude & 0x7FFFFFU) | 0x800000U, bits = 0;
  if (exponent < least) {  // subnormal
    dropped += least - exponent;
    if (dropped > 24U) return sign;  // less than half of the smallest number
  } else {
    bits = (exponent - least) << (23U - dropped);
  }
  bits += mantissa >> dropped;  // the leading bit moves the exponent
  hone_u32 rest = mantissa & ((1U << dropped) - 1U), half = 1U << (dropped - 1U);
  if (rest > half || (rest == half && (bits & 1U))) ++bits;
  return sign | (bits > largest ? largest : bits);
}

// e5m2 is the upper byte of f16. e4m3 has one bit less of exponent, and no infinity.
HONE_FN double hone_fp8_value(hone_u32 bits, int type) {
  if (type == HONE_E5M2)
    return (double)__builtin_bit_cast(float, hone_f16_to_f32((bits & 0xFFU) << 8));
  if ((bits & 0x7FU) == 0x7FU) return (double)__builtin_bit_cast(float, 0x7FC00000U);
  hone_u32 half = ((bits & 0x80U) << 8) | ((bits & 0x7FU) << 7);
  return 256.0 * (double)__builtin_bit_cast(float, hone_f16_to_f32(half));
}

// Round to nearest, ties away from zero, as cvt.rna.tf32.f32 does: ten explicit bits are left.
HONE_FN hone_u32 hone_f32_to_tf32(hone_u32 f) {
  if ((f & 0x7FFFFFFFU) >= 0x7F800000U) return f;
  return (f + 0x1000U) & 0xFFFFE000U;
}

HONE_FN hone_u64 hone_encode_float(int type, double v) {
  if (type == HONE_F64) return __builtin_bit_cast(hone_u64, v);
  hone_u32 f = __builtin_bit_cast(hone_u32, (float)v);
  if (type == HONE_F16) return hone_f32_to_f16(f);
  if (type == HONE_BF16) return hone_f32_to_bf16(f);
  if (type == HONE_E4M3 || type == HONE_E5M2) return hone_f32_to_fp8(f, type);
  return f;
}

// The value of an element's bits; 64-bit integers round.
HONE_FN double hone_decode(int type, hone_u64 bits) {
  switch (type) {
    case HONE_F64:
      return __builtin_bit_cast(double, bits);
    case HONE_F32:
      return (double)__builtin_bit_cast(float, (hone_u32)bits);
    case HONE_F16:
      return (double)__builtin_bit_cast(float, hone_f16_to_f32((hone_u32)bits));
    case HONE_BF16:
      return (double)__builtin_bit_cast(float, (hone_u32)bits << 16);
    case HONE_E4M3:
    case HONE_E5M2:
      return hone_fp8_value((hone_u32)bits, type);
    case HONE_I32:
      return (double)(int)(hone_u32)bits;
    case HONE_I64:
      return (double)(hone_i64)bits;
    case HONE_I8:
      return (double)(signed char)bits;
    default:
      return (double)bits;
  }
}

HONE_FN hone_i64 hone_type_min(int type) {
  switch (type) {
    case HONE_I32:
      return -2147483648LL;
    case HONE_I64:
      return -9200000000000000000LL;
    case HONE_I8:
      return -128;
    default:
      return 0;
  }
}

HONE_FN hone_i64 hone_type_max(int type) {
  switch (type) {
    case HONE_I32:
      return 2147483647LL;
    case HONE_I64:
      return 9200000000000000000LL;
    case HONE_I8:
      return 127;
    case HONE_U8:
      return 255;
    case HONE_U32:
      return 4294967295LL;
    case HONE_U64:
      return 9200000000000000000LL;
    default:
      return 1;
  }
}

// An integer of [low, high], both inclusive.
HONE_FN hone_i64 hone_pick(hone_u64 bits, hone_i64 low, hone_i64 high) {
  if (high <= low) return low;
  hone_u64 span = (hone_u64)high - (hone_u64)low + 1ULL;
  return (hone_i64)((hone_u64)low + (span ? bits % span : bits));
}

// Standard normal, approximately: twelve 16-bit integers summed (Irwin-Hall), exact in double.
HONE_FN double hone_normal(hone_u64 key, hone_u64 index) {
  hone_i64 sum = 0;
  for (hone_u64 k = 0; k < 3; ++k) {
    hone_u64 bits = hone_bits(key ^ (k + 1), index);
    sum += (hone_i64)(bits & 0xFFFF) + (hone_i64)((bits >> 16) & 0xFFFF) +
           (hone_i64)((bits >> 32) & 0xFFFF) + (hone_i64)(bits >> 48);
  }
  return (double)(sum - 393210) * 0.0000152587890625;  // 2^-16
}
