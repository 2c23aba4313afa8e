// What buffers hold: one element of each kind of fill, and of the patterns that need no other
// element. Part of formula.h, after which it comes, and which says what may stand here.

// A number of (0, 1): half of them under 2^-16, one in sixteen above a third.
HONE_FN double hone_tail(hone_u64 bits) {
  double u = ((double)(bits >> 12) + 0.5) * 2.220446049250313e-16;
  u *= u;
  u *= u;
  u *= u;
  return u * u;
}

// The number before 1, of this type.
HONE_FN double hone_below_one(int type) {
  return type == HONE_F64    ? 1.0 - 1.1102230246251565e-16
         : type == HONE_F16  ? 1.0 - 0.00048828125
         : type == HONE_BF16 ? 1.0 - 0.00390625
         : type == HONE_E4M3 ? 1.0 - 0.0625
         : type == HONE_E5M2 ? 1.0 - 0.125
                             : 1.0 - 5.9604644775390625e-08;
}

// A value of [a, b] where kernels that were written for others go wrong: the ends, the middle, 0,
// 1, the tiniest; powers of two and halves, and the numbers before them, where rounding is at its
// edge. Small powers are left out: what is divided by them would be so large that nothing else
// counts.
HONE_FN double hone_edge(struct hone_fill f, hone_u64 bits) {
  double tiny = f.type == HONE_F64 && f.through < 0 ? 1e-310
                : f.type == HONE_F16                ? 6e-8
                : f.type == HONE_E4M3               ? 0.001953125
                : f.type == HONE_E5M2               ? 0.0000152587890625
                                                    : 1e-40;
  double v = f.a;
  if ((bits & 48U) == 16U) {
    v = bits & 64U ? 1.0 : 0.5 + (double)(bits >> 12 & 7U);
    if (bits & 64U)
      for (hone_u64 k = (bits >> 12) % 24U; k > 0; --k) v *= 2.0;
    if (bits & 128U) v *= hone_below_one(f.through < 0 ? f.type : f.through);
    if (f.a < 0.0 && (bits & 512U)) v = -v;
    if (v >= f.a && v <= f.b) return v;
  }
  switch ((int)(bits & 7U)) {
    case 0:
      return f.a;
    case 1:
      return f.b;
    case 2:
      return f.a + (f.b - f.a) * 0.5;
    case 3:
      v = f.a < 0.0 && (bits & 512U) ? -0.0 : 0.0;
      break;
    case 4:
      v = 1.0;
      break;
    case 5:
      v = -1.0;
      break;
    case 6:
      v = tiny;
      break;
    default:
      v = -tiny;
  }
  return v >= f.a && v <= f.b ? v : (bits & 8U) ? f.b : f.a;
}

HONE_FN double hone_unit(hone_u64 bits) { return (double)(bits >> 11) * 1.1102230246251565e-16; }

// The key of one row's contents.
HONE_FN hone_u64 hone_row_key(hone_u64 key, hone_u64 row) {
  return row ? hone_mix(key + row * 0xD1B54A32D192ED03ULL) : key;
}

// How far element `at` of a sorted row of `width` is from the first, 0, to the last, 1. Never less
// than the one before it: every step below keeps the order, rounding included. Elements come in
// eights, each of which is stretched towards one of its ends by a power, so that some steps are
// eight times the mean and others next to nothing.
HONE_FN double hone_way(hone_u64 key, hone_u64 at, hone_u64 width) {
  if (at == 0) return 0.0;
  if (at + 1 >= width) return 1.0;
  hone_u64 first = at & ~7ULL, many = width - 1 - first < 8 ? width - 1 - first : 8;
  hone_u64 bend = hone_bits(key ^ 1ULL, first);
  double t = ((double)(at - first) + hone_unit(hone_bits(key, at))) / (double)many;
  if (t > 1.0) t = 1.0;
  if (bend & 4U) t = 1.0 - t;
  for (hone_u64 k = bend & 3U; k > 0; --k) t *= t;
  if (bend & 4U) t = 1.0 - t;
  double way = ((double)first + t * (double)many) / (double)(width - 1);
  return way < 1.0 ? way : 1.0;
}

// The same in another form. Every step below keeps the order, rounding included.
HONE_FN double hone_way_of(int form, hone_u64 key, hone_u64 at, hone_u64 width) {
  double way = hone_way(key, at, width);
  if (form == HONE_PLAIN || at == 0 || at + 1 >= width) return way;
  hone_u64 bits = hone_bits(key ^ 4ULL, 0), choice = bits >> 8;
  if (form == HONE_ONE_STEP) return at < 1 + choice % (width - 1) ? 0.5 * way : 0.5 + 0.5 * way;
  double t = bits & 1U ? 1.0 - way : way;
  if (form == HONE_CURVE) {
    for (hone_u64 k = 2 + choice % 3; k > 0; --k) t *= t;
  } else if (form == HONE_JUMPS) {
    double many = (double)(2 + choice % 5);
    t = hone_floor(t * t * many) / many;
  } else {
    t = 0.0;
  }
  return bits & 1U ? 1.0 - t : t;
}

// Of integers [low, low + span): one that `bits` chooses.
HONE_FN hone_u64 hone_any_of(struct hone_fill f, hone_u64 bits) {
  return f.low + (f.span ? bits % f.span : bits);
}

// The largest integer whose square is at most v.
HONE_FN hone_u64 hone_root(hone_u64 v) {
  hone_u64 root = 0;
  for (hone_u64 bit = 1ULL << 31; bit > 0; bit >>= 1)
    if ((root | bit) * (root | bit) <= v) root |= bit;
  return root;
}

// An integer where implementations break: the ends of the range, next to them, the middle, 0, 1,
// -1, powers of two with their neighbours, where what counts in fewer bits overflows, and squares
// with the number before them.
HONE_FN hone_u64 hone_whole_edge(struct hone_fill f, hone_u64 bits) {
  hone_u64 most = f.span - 1ULL, wide = 1, n = 0;
  if ((bits >> 20 & 7ULL) == 1ULL) {
    n = hone_any_of(f, hone_mix(bits));
    if (hone_type_min(f.type) < 0 && (hone_i64)n < 0) n = 0ULL - n;
    n = hone_root(n);
    n = n * n - (bits >> 24 & 1ULL);
    if (n - f.low <= most) return n;
  }
  while (wide < 64 && most >> wide) ++wide;
  hone_u64 power = 1ULL << ((bits >> 8) % wide);
  switch (bits & 15U) {
    case 0:
    case 1:
      return f.low;
    case 2:
    case 3:
      return f.low + most;
    case 4:
      return f.low + most / 2;
    case 5:
      return f.low + (most ? 1ULL : 0ULL);
    case 6:
      return f.low + (most ? most - 1ULL : 0ULL);
    case 7:
      n = 0;
      break;
    case 8:
      n = 1;
      break;
    case 9:
      n = ~0ULL;
      break;
    case 10:
    case 11:
      n = power;
      break;
    case 12:
    case 13:
      n = power - 1ULL;
      break;
    case 14:
      n = 0ULL - power;
      break;
    default:
      n = ~power;
  }
  // In [low, low + most], with or without a sign; else an end.
  return n - f.low <= most ? n : (bits & 16U) ? f.low + most : f.low;
}

// Keys of which many are equal and others agree in what is left when they are folded: their low
// or high bits, the exclusive or of both, their sum.
HONE_FN hone_u64 hone_alike(struct hone_fill f, hone_u64 bits) {
  hone_u64 most = f.span - 1ULL, wide = 1;
  while (wide < 64 && most >> wide) ++wide;
  // The fold: half of the bits for one half of the keys, 8, 16, 24 or 32 of them for the other.
  hone_u64 choice = hone_bits(f.key ^ 5ULL, 1),
           low = bits >> 60 & 1ULL ? 8ULL * (choice % 5ULL) : 0;
  if (low == 0 || low >= wide) low = (wide + 1) / 2;
  // Half of them from where other buffers' are, too; around the middle, so that bits have room.
  hone_u64 place = hone_bits(bits >> 61 & 1ULL ? f.key : f.low + most, 6ULL);
  hone_u64 base = f.low + most / 4 + (most ? place % (most / 2 + 1ULL) : 0ULL);
  if (low >= wide) return base;
  hone_u64 room = wide - low < 3 ? wide - low : 3, step = bits >> 8 & ((1ULL << room) - 1ULL);
  hone_u64 high = step << ((bits >> 16) % (wide - low - room + 1)) << low;
  hone_u64 n = base;
  switch (bits & 7U) {
    case 0:
    case 1:
      n = base ^ high;
      break;
    case 2:
      n = base ^ step;
      break;
    case 3:
    case 4:
      n = base ^ (high | high >> low);
      break;
    case 5:
    case 6:
      n = base + high - (high >> low);
      break;
    default:
      break;
  }
  return n - f.low <= most ? n : base;
}

// Which run of equal elements an element is in. Every 4096 elements have runs of another length, 16
// to 1024, and all are shifted, so that runs cross the borders of warps and blocks.
HONE_FN hone_u64 hone_run_of(hone_u64 key, hone_u64 index) {
  hone_u64 at = index + (hone_bits(key ^ 2ULL, 0) & 4095ULL), part = at >> 12;
  return (part << 8) + ((at & 4095ULL) >> (4 + hone_bits(key ^ 3ULL, part) % 7ULL));
}

// An element of a sorted row of integers.
HONE_FN hone_u64 hone_sorted_whole(struct hone_fill f, hone_u64 row, hone_u64 at) {
  double way = hone_way_of(f.form, hone_row_key(f.key, row), at, f.width);
  hone_u64 most = f.span - 1ULL;
  double far = hone_floor((double)most * way);
  return f.low + (way == 1.0 || far >= (double)most ? most : (hone_u64)far);
}

// Where `at` of 0 .. width - 1 goes in a permutation of them: four rounds of a Feistel network on
// the least even number of bits, again until it is below `width`.
HONE_FN hone_u64 hone_permuted(hone_u64 key, hone_u64 at, hone_u64 width) {
  int half = 1;
  while (half < 31 && (1ULL << (2 * half)) < width) ++half;
  hone_u64 mask = (1ULL << half) - 1ULL;
  do {
    hone_u64 left = at >> half, right = at & mask;
    for (hone_u64 round = 1; round <= 4; ++round) {
      hone_u64 next = left ^ (hone_bits(key ^ round, right) & mask);
      left = right;
      right = next;
    }
    at = (left << half) | right;
  } while (at >= width);
  return at;
}

// An element of a permutation.
HONE_FN hone_u64 hone_permutation(struct hone_fill f, hone_u64 row, hone_u64 at) {
  hone_u64 key = hone_row_key(f.key, row);
  switch (f.form) {
    case HONE_CURVE:
      return at;
    case HONE_JUMPS:
      return f.width - 1ULL - at;
    case HONE_ONE_STEP:
      return (at ^ 1ULL) < f.width ? at ^ 1ULL : at;
    case HONE_ONE_END:
      return (at + hone_bits(key, 0) % f.width) % f.width;
    default:
      return hone_permuted(key, at, f.width);
  }
}

// Where the one of a one-hot row is.
HONE_FN hone_u64 hone_hot(struct hone_fill f, hone_u64 row) {
  switch (f.form) {
    case HONE_CURVE:
      return 0;
    case HONE_JUMPS:
      return f.width - 1ULL;
    case HONE_ONE_STEP:
      return hone_bits(f.key, 0) % f.width;
    case HONE_ONE_END:
      return row % f.width;
    default:
      return hone_bits(f.key, row) % f.width;
  }
}

// At most one element of a row and of a column, of the first matrix and of every fourth other one:
// sums of products with these have one or a few terms.
HONE_FN double hone_sparse(struct hone_fill f, hone_u64 index) {
  hone_u64 column = index % f.width, row = index / f.width % f.height;
  hone_u64 matrix = index / f.width / f.height;
  hone_u64 period = f.width > f.height ? f.width : f.height;
  if ((row + column + hone_bits(f.key, matrix)) % period != 0) return 0.0;
  hone_u64 bits = hone_bits(f.key ^ 1ULL, index);
  if (matrix > 0 && hone_bits(f.key ^ 2ULL, matrix) % 4ULL != 0) return 0.0;
  return f.a <= -f.b && (bits & 1U) ? -f.b : f.b;
}

// b + b / 256 lies between two neighbours of bf16 and b + b / 2048 between two of f16: what follows
// changes the sum of two such numbers in float only where it is added up before.
HONE_FN double hone_tie(struct hone_fill f, hone_u64 index) {
  hone_u64 column = index % f.width, row = index / f.width % f.height;
  hone_u64 at = f.form == HONE_TIES_OF_ROWS ? column : f.form == HONE_TIES_OF_COLUMNS ? row : 2ULL;
  hone_u64 other = f.form == HONE_TIES_OF_ROWS ? row : column;
  double part = f.b * (other & 1U ? 0.00390625 : 0.00048828125);
  if (f.form == HONE_TIES_EVERYWHERE) return f.b + part;
  if (at == 0) return f.b;
  if (at == 1) return part;
  double tiny = f.b * 2.98023223876953125e-08;  // 2^-25
  if (f.type == HONE_F16) return 2.0 * tiny;    // the least that it has, where b is 1
  return tiny + tiny * hone_unit(hone_bits(f.key, index));
}

// Of a triangular matrix: a diagonal of 1 to 2, and beside it what sums to less than 1 in a row.
HONE_FN double hone_triangle(struct hone_fill f, hone_u64 index) {
  hone_u64 column = index % f.width, row = index / f.width % f.height;
  double u = hone_unit(hone_bits(f.key, index));
  if (row == column) return f.form == HONE_PLAIN ? 1.0 + u : 1.0;
  if ((column > row) == (f.kind == HONE_LOWER_TRIANGLE)) return 0.0;
  if (f.form != HONE_PLAIN) {
    // A long way from the first unknown to the last, on which little gets lost.
    hone_u64 lower = f.kind == HONE_LOWER_TRIANGLE, rest = lower ? row : f.width - 1ULL - row;
    hone_u64 far = f.form == HONE_CURVE ? 1ULL : 1ULL + hone_bits(f.key ^ 1ULL, row) % rest;
    if ((lower ? row - column : column - row) == far)
      return (hone_bits(f.key ^ 2ULL, row) & 1U ? 0.9375 : -0.9375) + 0.03125 * u;
    return 0.03125 * (2.0 * u - 1.0) / (double)f.width;
  }
  return (2.0 * u - 1.0) / (double)f.width;
}

HONE_FN hone_u64 hone_row_of_pattern(struct hone_fill f, hone_u64 index) {
  return index / (f.width < f.count ? f.width : 64ULL);
}

// Is it in a row of a strided buffer that has a shape? Every second one has; of a vector, the
// second half.
HONE_FN int hone_has_shape(struct hone_fill f, hone_u64 index) {
  if (f.pattern != HONE_STRIDED) return 0;
  return f.width < f.count ? (int)(index / f.width & 1U) : f.count >= 64 && index >= f.count / 2;
}

// The part of the range that an element of such a row is at: rows rise, fall, are a smooth curve
// between random points, or have one hump. Of a vector, each quarter of the second half is a row.
HONE_FN double hone_shape(struct hone_fill f, hone_u64 index) {
  hone_u64 width = f.width < f.count ? f.width : (f.count - f.count / 2 + 3ULL) / 4ULL;
  hone_u64 from = f.width < f.count ? 0 : f.count / 2, row = (index - from) / width;
  hone_u64 at = (index - from) % width, first = hone_bits(f.key ^ 20ULL, 0);
  hone_u64 key = hone_row_key(f.key ^ 20ULL, row + 1ULL), bits = hone_bits(key, 0);
  switch ((int)((first + (f.width < f.count ? row / 2ULL : row)) & 3ULL)) {
    case 0:
      return hone_way(key, at, width);
    case 1:
      return hone_way(key, width - 1ULL - at, width);
    case 2: {
      hone_u64 apart = 8ULL << bits % 4ULL, cell = at / apart;
      double t = (double)(at % apart) / (double)apart, u = hone_unit(hone_bits(key, cell + 1ULL));
      t = t * t * (3.0 - 2.0 * t);
      return u + (hone_unit(hone_bits(key, cell + 2ULL)) - u) * t;
    }
    default: {
      double reach = (double)(1ULL + width / (2ULL << bits % 4ULL));
      double far = ((double)at - (double)((bits >> 8) % width)) / reach;
      double flat = 0.0625 * hone_unit(hone_bits(key, at + 1ULL)), high = 1.0 - far * far;
      return high > 0.0 ? flat + 0.9375 * high * high : flat;
    }
  }
}

// Of a zigzag: high and low in turns, of one, two or four elements from row to row. Strided: every
// 32nd to 1024th of a row is high, so that all of those may fall to one thread.
HONE_FN int hone_is_high(struct hone_fill f, hone_u64 index) {
  if (f.pattern == HONE_STRIDED) {
    hone_u64 width = f.width < f.count ? f.width : f.count, row = index / width;
    hone_u64 bits = hone_bits(f.key ^ 9ULL, row), stride = 32ULL << bits % 6ULL;
    while (stride > 2ULL && stride * 4ULL > width) stride >>= 1;
    return index % width % stride == (bits >> 8) % stride;
  }
  return (index >> hone_bits(f.key ^ 9ULL, hone_row_of_pattern(f, index)) % 3ULL) & 1U;
}

HONE_FN int hone_has_rare(struct hone_fill f) {
  return f.pattern == HONE_RARE || f.pattern == HONE_RARE_OTHERWISE;
}

// Of a row nearly all of whose elements are equal: is this one of the few others? Two rows of four
// have one to three. One of them is near the row's beginning, in every second row near its end, so
// that it is far from there to the next one or to the other end. The next two rows have four to
// seven, those of the next four eight to fifteen, and so on up to about half of the row, anywhere.
// Of a vector's pieces all have some, a quarter or a sixteenth.
HONE_FN int hone_is_rare(struct hone_fill f, hone_u64 index) {
  hone_u64 width = f.width < f.count ? f.width : 64ULL, row = index / width, at = index % width;
  hone_u64 bits = hone_bits(f.key ^ 12ULL, row), of_all = hone_bits(f.key ^ 13ULL, 0);
  if (f.width >= f.count && (bits >> 8) % (1ULL << 2 * (of_all % 3ULL))) return 0;
  hone_u64 pair = row / 2ULL, kinds = 0;
  while ((8ULL << kinds) <= width) ++kinds;
  if (f.width < f.count && (pair & 1U) && kinds > 0) {
    hone_u64 least = 4ULL << ((pair / 2ULL) % kinds);
    hone_u64 some = least + (bits >> 8) % least;
    if (some > width / 2ULL) some = width / 2ULL;
    return hone_bits(f.key ^ 18ULL, index) % width < some;
  }
  hone_u64 near = hone_bits(f.key ^ 14ULL, row) % (width / 16ULL + 1ULL);
  if (at == (row & 1U ? width - 1ULL - near : near)) return 1;
  for (hone_u64 k = 1; k <= bits % 3ULL; ++k)
    if (hone_bits(f.key ^ (14ULL + k), row) % width == at) return 1;
  return 0;
}

enum { HONE_USUAL_ZERO, HONE_USUAL_LOW, HONE_USUAL_HIGH };

// What the others of its row are: 0, or one of the ends.
HONE_FN int hone_usual(struct hone_fill f, hone_u64 index) {
  hone_u64 row = f.width < f.count ? index / f.width : 0;
  if (((row & 1U) == 0) == (f.pattern == HONE_RARE)) return HONE_USUAL_ZERO;
  return hone_bits(f.key ^ 17ULL, row) & 1U ? HONE_USUAL_LOW : HONE_USUAL_HIGH;
}

// The part of the range that a number is at.
HONE_FN double hone_part(struct hone_fill f, hone_u64 index) {
  if (hone_has_shape(f, index)) return hone_shape(f, index);
  double part = hone_unit(hone_bits(f.key, index));
  if (f.pattern != HONE_ZIGZAG && f.pattern != HONE_STRIDED) return part;
  return 0.5 * part + (hone_is_high(f, index) ? 0.5 : 0.0);
}

HONE_FN hone_u64 hone_random_whole(struct hone_fill f, hone_u64 index) {
  hone_u64 most = f.span - 1ULL, bits = hone_bits(f.key, index);
  if (f.pattern == HONE_MIRRORED) return f.low + (most - (hone_any_of(f, bits) - f.low));
  if (f.pattern == HONE_NEARLY) {
    hone_u64 width = f.width < f.count ? f.width : 64ULL;
    hone_u64 choice = hone_bits(f.own ^ 11ULL, index / width),
             at = most - (hone_any_of(f, bits) - f.low);
    hone_u64 place = choice & 1U ? 0 : (choice >> 8) % width;
    return f.low + (index % width == place && at < most ? at + 1ULL : at);
  }
  if (hone_has_shape(f, index)) {
    double far = hone_floor((double)most * hone_shape(f, index));
    return f.low + (far >= (double)most ? most : (hone_u64)far);
  }
  if ((f.pattern == HONE_ZIGZAG || f.pattern == HONE_STRIDED) && most > 0) {
    hone_u64 high = (hone_u64)hone_is_high(f, index);
    return f.low + high * (most / 2 + 1ULL) + bits % (high ? most - most / 2 : most / 2 + 1ULL);
  }
  if (hone_has_rare(f)) {
    int usual = hone_usual(f, index), has_zero = 0ULL - f.low <= most;
    hone_u64 high = usual == HONE_USUAL_HIGH || f.low == 0;
    hone_u64 n = usual == HONE_USUAL_ZERO && has_zero ? 0ULL : high ? f.low + most : f.low;
    hone_u64 other = hone_any_of(f, bits);
    if (!hone_is_rare(f, index)) return n;
    return other != n ? other : n != f.low ? f.low : f.low + most;
  }
  if (f.pattern == HONE_PROGRESSION) {
    hone_u64 choice = hone_bits(f.key ^ 9ULL, 0), step = 1;
    if (choice & 1U) step = choice & 2U ? 1ULL << (choice >> 8) % 9ULL : 1ULL + (choice >> 8) % 99;
    hone_u64 start = choice & 4U ? choice >> 16 : 0, at = start + step * index;
    return f.low + (f.span ? at % f.span : at);
  }
  return hone_any_of(f, bits);
}

// The bits of one element, but for a pattern of rows. Integer buffers: uniform means integers of
// [a, b], normal is rounded, both are clamped to the type; iota wraps. Bool: odd or non-zero.
HONE_LARGE_FN hone_u64 hone_plain_element(struct hone_fill f, hone_u64 index) {
  double v = 0.0;
  if (hone_is_float(f.type)) {
    switch (f.kind) {
      case HONE_UNIFORM:
        v = f.a + (f.b - f.a) * hone_part(f, index);
        break;
      case HONE_NORMAL:
        v = f.a + f.b * hone_normal(f.key, index);
        break;
      case HONE_INTEGERS:
        v = (double)hone_pick(hone_bits(f.key, index), hone_to_i64(f.a), hone_to_i64(f.b));
        break;
      case HONE_CONSTANT:
        v = f.a;
        break;
      case HONE_TAILS: {
        hone_u64 bits = hone_bits(f.key, index);
        double far = bits & 1U ? f.b : f.a, near = f.a <= 0.0 && f.b >= 0.0 ? 0.0 : f.a;
        if (near == f.a) far = f.b;
        v = near + (far - near) * hone_tail(bits);
        break;
      }
      case HONE_EITHER:
        v = hone_bits(f.key, index) & 1U ? f.a : f.b;
        break;
      case HONE_EDGES:
        v = hone_edge(f, hone_bits(f.key, index));
        break;
      case HONE_MULTIPLES:
        v = f.step * (double)hone_pick(hone_bits(f.key, index),
                                       hone_to_i64(-hone_floor(-f.a / f.step)),
                                       hone_to_i64(hone_floor(f.b / f.step)));
        if (v == 0.0 && f.a < 0.0 && (hone_bits(f.key ^ 8ULL, index) & 1U)) v = -0.0;
        break;
      case HONE_SORTED: {
        double way =
            hone_way_of(f.form, hone_row_key(f.key, index / f.width), index % f.width, f.width);
        v = f.a + (f.b - f.a) * way;
        if (way == 1.0 || v > f.b) v = f.b;
        break;
      }
      case HONE_ONE_HOT:
        v = hone_hot(f, index / f.width) == index % f.width ? 1.0 : 0.0;
        break;
      case HONE_LOWER_TRIANGLE:
      case HONE_UPPER_TRIANGLE:
        v = hone_triangle(f, index);
        break;
      case HONE_SPARSE:
        v = hone_sparse(f, index);
        break;
      case HONE_TIES:
        v = hone_tie(f, index);
        break;
      default:
        v = f.a + f.b * (double)index;
    }
    if (hone_has_rare(f) && !hone_is_rare(f, index)) {
      int usual = hone_usual(f, index), has_zero = f.a <= 0.0 && f.b >= 0.0;
      v = usual == HONE_USUAL_ZERO && has_zero ? 0.0 : usual == HONE_USUAL_HIGH ? f.b : f.a;
    }
    if (f.pattern == HONE_NEARLY) {
      hone_u64 bits = hone_bits(f.own ^ 11ULL, index), near = hone_encode_float(f.type, v);
      hone_u64 more = f.type == HONE_F32 || f.type == HONE_F64 ? hone_bits(f.own ^ 22ULL, 0) : 0;
      hone_u64 wide = 3ULL << (more & 1U ? more & 2U ? 6 : 9 : 0);
      double moved = hone_decode(f.type, near + (bits & 1U ? 1ULL + (bits >> 8) % wide : 0ULL));
      if (f.kind == HONE_INTEGERS) moved = v + (double)(bits & 1U);
      if ((f.kind == HONE_NORMAL && moved == moved) || (moved >= f.a && moved <= f.b)) v = moved;
    }
    if (f.pattern == HONE_MIRRORED) v = (f.kind == HONE_NORMAL ? f.a + f.a : f.a + f.b) - v;
    return hone_encode_float(f.type, v);
  }
  hone_u64 n = 0;
  switch (f.kind) {
    case HONE_UNIFORM:
    case HONE_INTEGERS:
      n = hone_random_whole(f, index);
      break;
    case HONE_NORMAL: {
      hone_i64 low = hone_type_min(f.type), high = hone_type_max(f.type);
      hone_i64 near = hone_to_i64(hone_floor(f.a + f.b * hone_normal(f.key, index) + 0.5));
      if (f.type == HONE_BOOL) return near > 0;
      n = (hone_u64)(near < low ? low : near > high ? high : near);
      break;
    }
    case HONE_CONSTANT:
      if (f.type == HONE_BOOL) return f.a != 0.0;
      n = f.low;
      break;
    case HONE_EITHER:
      n = hone_bits(f.key, index) & 1U ? f.low : f.low + (f.span - 1ULL);
      break;
    case HONE_EDGES:
      n = f.form == HONE_ALIKE ? hone_alike(f, hone_bits(f.key, index))
                               : hone_whole_edge(f, hone_bits(f.key, index));
      break;
    case HONE_MULTIPLES: {
      hone_u64 step = (hone_u64)hone_to_i64(f.step);
      n = f.low + step * (hone_bits(f.key, index) % ((f.span - 1ULL) / step + 1ULL));
      break;
    }
    case HONE_EQUAL: {  // mostly the highest: sums of it overflow first
      hone_u64 bits = hone_bits(f.key, 0), choice = bits >> 62;
      n = choice == 0 ? hone_any_of(f, bits) : choice == 1 ? f.low : f.low + (f.span - 1ULL);
      break;
    }
    case HONE_SORTED:
      n = hone_sorted_whole(f, index / f.width, index % f.width);
      break;
    case HONE_FALLING:
      n = hone_sorted_whole(f, index / f.width, f.width - 1ULL - index % f.width);
      break;
    case HONE_RUNS:
      n = hone_any_of(f, hone_bits(f.key, hone_run_of(f.key, index)));
      break;
    case HONE_PERMUTATION:
      n = hone_permutation(f, index / f.width, index % f.width);
      break;
    case HONE_ONE_HOT:
      return hone_hot(f, index / f.width) == index % f.width;
    default:
      n = f.whole ? f.low + f.span * index : (hone_u64)hone_to_i64(f.a + f.b * (double)index);
      if (f.type == HONE_BOOL) return n & 1;
  }
  if (hone_size(f.type) == 8) return n;
  return n & ((1ULL << (8 * hone_size(f.type))) - 1ULL);
}
