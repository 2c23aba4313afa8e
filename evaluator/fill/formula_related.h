// What relates elements to others, of the same buffer or of another one, and hone_element() of any
// fill. Part of formula.h, which says what may stand here; it comes after formula_contents.h.

HONE_FN hone_i64 hone_whole_of(int type, hone_u64 bits) {
  return hone_size(type) == 8 ? (hone_i64)bits : (hone_i64)hone_decode(type, bits);
}

// Half of them small, of any number of bits, so that quotients are large; of the others, the one of
// eight whose rounded reciprocal is off by most.
HONE_LARGE_FN hone_u64 hone_whole_divisor(struct hone_fill f, hone_u64 index) {
  hone_u64 bits = hone_plain_element(f, index), choice = hone_bits(f.key ^ 23ULL, index);
  hone_i64 n = hone_whole_of(f.type, bits), low = (hone_i64)f.low;
  hone_u64 size = n < 0 ? 0ULL - (hone_u64)n : (hone_u64)n, wide = 0;
  if (choice & 1U) {
    while (wide < 63 && size >> wide > 1ULL) ++wide;
    size >>= (choice >> 8) % (wide + 1ULL);
    n = n < 0 ? (hone_i64)(0ULL - size) : (hone_i64)size;
    if ((hone_u64)n - (hone_u64)low > f.span - 1ULL) return bits;
    return hone_size(f.type) == 8 ? (hone_u64)n
                                  : (hone_u64)n & ((1ULL << (8 * hone_size(f.type))) - 1ULL);
  }
  hone_u64 key = f.key, best = bits;
  double most = -1.0;
  for (hone_u64 k = 0; k < 8; ++k) {
    f.key = key ^ (k << 32);
    bits = hone_plain_element(f, index);
    double by = (double)hone_whole_of(f.type, bits);
    if (by == 0.0) continue;
    double off = hone_decode(HONE_F32, hone_encode_float(HONE_F32, 1.0 / by)) * by - 1.0;
    if (off < 0.0) off = -off;
    if (off > most) {
      most = off;
      best = bits;
    }
  }
  return best;
}

// Of one in seven f32 the rounded reciprocal gives less than one.
HONE_LARGE_FN hone_u64 hone_divisor(struct hone_fill f, hone_u64 index) {
  if (!hone_is_float(f.type)) return hone_whole_divisor(f, index);
  hone_u64 key = f.key, bits = 0;
  for (hone_u64 k = 0; k < 40; ++k) {
    f.key = key ^ (k << 32);
    bits = hone_plain_element(f, index);
    double by = hone_decode(f.type, bits);
    if (f.type != HONE_F32 || by == 0.0) return bits;
    double reciprocal = hone_decode(HONE_F32, hone_encode_float(HONE_F32, 1.0 / by));
    if (hone_decode(HONE_F32, hone_encode_float(HONE_F32, reciprocal * by)) < 1.0) return bits;
  }
  return bits;
}

// A multiple of an element of the buffer whose key is `other`, or a number next to one: of the
// element with this index, of this column or row, or of any. Half of the multiples are the largest
// ones that there are. Where there is none in the range, any number of it.
HONE_LARGE_FN hone_u64 hone_multiple(struct hone_contents f, hone_u64 index) {
  hone_u64 bits = hone_bits(f.own ^ 19ULL, index), count = f.other_count ? f.other_count : 1ULL;
  hone_u64 at = count == f.count             ? index
                : count == f.width           ? index % f.width
                : count * f.width == f.count ? index / f.width
                                             : (bits >> 32) % count;
  f.pattern = HONE_NO_PATTERN;
  f.kind = HONE_UNIFORM;
  struct hone_fill of = f;
  of.key = f.other;
  of.a = f.other_a;
  of.b = f.other_b;
  of.low = f.other_low;
  of.span = f.other_span;
  hone_u64 base = hone_divisor(of, at), any = hone_plain_element(f, index);
  const hone_i64 most = 1048576LL;
  if (hone_is_float(f.type)) {
    double by = hone_decode(f.type, base);
    if (by < 0.0) by = -by;
    if (!(by > 0.0)) return any;
    hone_i64 low = hone_to_i64(-hone_floor(-f.a / by)), high = hone_to_i64(hone_floor(f.b / by));
    if (low < -most) low = -most;
    if (high > most) high = most;
    if (high < low) return any;
    hone_i64 times = hone_pick(bits >> 8, low, high);
    if ((bits & 4U) && high - low > 3) times = high - (hone_i64)(bits >> 8 & 3U);
    hone_u64 near = hone_encode_float(f.type, by * (double)times);
    if (times != 0 && (bits & 2U)) near += bits & 1U ? 1ULL : ~0ULL;
    double v = hone_decode(f.type, near);
    return v >= f.a && v <= f.b ? near : any;
  }
  hone_i64 by = hone_whole_of(f.type, base);
  hone_i64 low = (hone_i64)f.low, high = (hone_i64)(f.low + (f.span - 1ULL));
  if (by < 0) by = -by;
  if (by == 0) return any;
  hone_i64 least = low / by + (low % by > 0 ? 1 : 0), last = high / by - (high % by < 0 ? 1 : 0);
  if (last < least) return any;
  hone_i64 times = hone_pick(bits >> 8, least, last);
  if ((bits & 4U) && last - least > 3) times = last - (hone_i64)(bits >> 8 & 3U);
  hone_i64 n = times * by + (bits & 2U ? -1LL : bits & 1U ? 1LL : 0LL);
  if (n < low || n > high) return any;
  if (hone_size(f.type) == 8) return (hone_u64)n;
  return (hone_u64)n & ((1ULL << (8 * hone_size(f.type))) - 1ULL);
}

// The integer after the one at `first`, and another one, as what is equal has no period.
HONE_FN hone_u64 hone_second_whole(struct hone_fill f, hone_u64 first) {
  hone_u64 bits = hone_plain_element(f, first + 1ULL), other = bits ^ 1ULL;
  double low = (double)(hone_i64)f.low, v = hone_decode(f.type, other);
  if (bits != hone_plain_element(f, first)) return bits;
  return v >= low && v <= low + (double)(f.span - 1ULL) ? other : bits;
}

HONE_FN hone_u64 hone_patterned_element(const struct hone_contents& all, struct hone_fill f,
                                        hone_u64 index) {
  hone_u64 width = f.width < f.count ? f.width : 64ULL;
  hone_u64 row = hone_row_of_pattern(f, index), at = index % width;
  hone_u64 bits = hone_bits(f.other ^ 7ULL, row), rows = f.count / width;
  // The same rows of all buffers that hang on one another; of a vector, the first piece of 256 and
  // every second one after it.
  hone_u64 related = f.width < f.count ? hone_bits(f.group ^ 7ULL, row) : row / 4ULL;
  switch (f.pattern) {
    case HONE_MULTIPLES_OF:
      if (!hone_is_float(f.type) || (related & 1U) == (f.width < f.count ? 1U : 0U)) {
        struct hone_contents multiples = all;
        static_cast<struct hone_fill&>(multiples) = f;
        return hone_multiple(multiples, index);
      }
      f.pattern = HONE_NO_PATTERN;
      break;
    case HONE_REPEATED:
      if (hone_is_float(f.type) && (related & 1U)) break;
      if (related & 2U) row = 0;
      // Odd, so that it is no vector's and no word's.
      at %= f.form == HONE_PLAIN ? 3ULL : 5ULL + 2ULL * (hone_bits(f.group ^ 21ULL, 0) % 5ULL);
      f.key = f.other;
      if (at == 1 && !hone_is_float(f.type)) return hone_second_whole(f, row * width);
      break;
    case HONE_SAME:
    case HONE_MIRRORED:
    case HONE_NEARLY:
    case HONE_ROWS_MOVED:
      if (hone_is_float(f.type) && (related & 1U)) {
        f.pattern = HONE_NO_PATTERN;
        break;
      }
      if (f.pattern == HONE_ROWS_MOVED && row < rows)
        row = (row + 1ULL + hone_bits(f.key ^ 7ULL, 0) % rows) % rows;
      if (f.pattern == HONE_NEARLY && f.kind != HONE_INTEGERS && hone_is_float(f.type)) {
        f.own = hone_row_key(f.own, row + 1ULL);
        if (related & 2U) row = (related >> 8) % 4ULL;
      }
      f.key = f.other;
      break;
    case HONE_FEW_ROWS:
      if (bits & 3U) row = (bits >> 8) % 3ULL;
      break;
    case HONE_PERIODIC:
      bits = hone_bits(f.key ^ 7ULL, 0);  // of all rows, so that columns are equal, or of each
      if (bits & 2U) bits = hone_bits(f.key ^ 7ULL, row + 1ULL);
      at %= bits & 1U ? 2ULL << (bits >> 8) % 6ULL : 2ULL + (bits >> 8) % 31ULL;
      break;
    case HONE_DIVISORS:
      return hone_divisor(f, index);
    case HONE_PERMUTED:
      return hone_plain_element(f, hone_permuted(f.key, index, f.count));
    default:
      break;
  }
  return hone_plain_element(f, row * width + at);
}

// Of an F32 or F64; the latter by way of F32.
HONE_FN hone_u64 hone_rounded_to_tf32(int type, hone_u64 bits) {
  hone_u64 single = hone_encode_float(HONE_F32, hone_decode(type, bits));
  return hone_encode_float(type, hone_decode(HONE_F32, hone_f32_to_tf32((hone_u32)single)));
}

HONE_FN hone_u64 hone_element(const struct hone_contents& all, hone_u64 index) {
  struct hone_fill f = all;
  int type = f.type;
  f.own = f.key;
  if (f.through >= 0) f.type = f.through;
  hone_u64 bits = f.pattern == HONE_NO_PATTERN ? hone_plain_element(f, index)
                                               : hone_patterned_element(all, f, index);
  if (f.type != type) bits = hone_encode_float(type, hone_decode(f.type, bits));
  return f.tf32 ? hone_rounded_to_tf32(type, bits) : bits;
}
