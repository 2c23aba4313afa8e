// Continues formula.h, under the same rules: when an element of a candidate's buffer is right.

HONE_FN int hone_is_nan(double v) { return v != v; }
HONE_FN int hone_is_inf(double v) { return v - v != 0.0 && v == v; }

// The least number that a conversion to this type makes infinite, or, of 8 bits, would if it did
// not saturate.
HONE_FN double hone_limit(int type) {
  switch (type) {
    case HONE_F16:
      return 65520.0;
    case HONE_BF16:
      return 339617752923046005526922703901628039168.0;  // 2^128 - 2^119
    case HONE_E4M3:
      return 464.0;
    case HONE_E5M2:
      return 61440.0;
    case HONE_F32:
      return 340282356779733661637539395458142568448.0;  // 2^128 - 2^103
    default:
      return __builtin_bit_cast(double, 0x7FF0000000000000ULL);
  }
}

// Is it a number of a type with this limit?
HONE_FN int hone_is_finite(double v, double limit) { return v < limit && -v < limit; }

// `v`, or the limit in its place where it is beyond.
HONE_FN double hone_clamped(double v, double limit) {
  return v > limit ? limit : v < -limit ? -limit : v;
}

// How two elements are equal of which one is not finite.
enum { HONE_NEVER, HONE_CLASSES, HONE_OVERFLOW, HONE_NUMBERS };

// As `rtol`, like every number below 0: the bits must be the same, but for NaN.
#define HONE_SAME_BITS -1.0

// How far `got` is from `want`, scaled; infinity where they differ and one is not finite. Floating
// types may differ. `scale` is max(|want|, rms(want)). *bad becomes 1 unless |got - want|
// <= atol + rtol * scale; written so that NaN fails. NaN and infinities: HONE_NEVER: always bad;
// HONE_CLASSES: bad unless both are NaN or the same infinity; HONE_OVERFLOW: likewise, but an
// infinity is as good as the largest number; HONE_NUMBERS: never bad where none is wanted. Integers
// are exact. A bool is 0 or 1: a program may count on it, so any other byte is wrong.
HONE_FN double hone_error(int want_type, hone_u64 want_bits, int type, hone_u64 got_bits,
                          double rms, double rtol, double atol, int non_finite, int* bad) {
  *bad = 0;
  if (type == HONE_BOOL) {
    *bad = (want_bits != 0) != (got_bits != 0) || got_bits > 1;
    return *bad ? 1.0 : 0.0;
  }
  if (!hone_is_float(type) && want_bits == got_bits) return 0.0;
  double want = hone_decode(want_type, want_bits), got = hone_decode(type, got_bits);
  double infinity = __builtin_bit_cast(double, 0x7FF0000000000000ULL);
  if (hone_is_float(type)) {
    if (non_finite == HONE_OVERFLOW) {
      want = hone_clamped(want, hone_limit(type));
      got = hone_clamped(got, hone_limit(type));
    }
    if (hone_is_nan(want) || hone_is_nan(got) || hone_is_inf(want) || hone_is_inf(got)) {
      if (non_finite == HONE_NUMBERS && (hone_is_nan(want) || hone_is_inf(want))) return 0.0;
      int same = want == got || (hone_is_nan(want) && hone_is_nan(got));
      *bad = !(same && non_finite != HONE_NEVER);
      return *bad ? infinity : 0.0;
    }
    if (rtol < 0.0 && (want_type != type || want_bits != got_bits)) *bad = 1;
    if (want == got) return *bad ? 1.0 : 0.0;  // +0 and -0
  }
  double diff = got - want;
  if (diff < 0.0) diff = -diff;
  double scale = want < 0.0 ? -want : want;
  if (rms > scale) scale = rms;
  if (hone_is_float(type)) {
    *bad = *bad || !(diff <= atol + rtol * scale);
  } else {
    *bad = 1;
    if (diff == 0.0) diff = 1.0;  // 64-bit integers closer than a double can tell
  }
  return scale > 0.0 ? diff / scale : diff;
}

// The local rule. A buffer is cut into groups: pieces of at most 256 elements of each row, that is
// along the last extent; rows of fewer than eight are taken together, 32 elements at a time.
struct hone_groups {
  hone_u64 elements, width, length, per_row, count;
};

HONE_FN struct hone_groups hone_groups_of(hone_u64 elements, hone_u64 width) {
  struct hone_groups g;
  g.elements = elements;
  g.width = width < 8 ? (elements ? elements : 1) : width;
  g.length = 32;
  if (width >= 8) {
    hone_u64 pieces = (width + 255) / 256;
    g.length = (width + pieces - 1) / pieces;
  }
  g.per_row = (g.width + g.length - 1) / g.length;
  g.count = (elements + g.width - 1) / g.width * g.per_row;
  return g;
}

HONE_FN hone_u64 hone_group_begin(struct hone_groups g, hone_u64 group) {
  hone_u64 begin = group / g.per_row * g.width + group % g.per_row * g.length;
  return begin < g.elements ? begin : g.elements;
}

HONE_FN hone_u64 hone_group_end(struct hone_groups g, hone_u64 group) {
  hone_u64 row = group / g.per_row, end = row * g.width + (group % g.per_row + 1) * g.length;
  if (end > (row + 1) * g.width) end = (row + 1) * g.width;
  return end < g.elements ? end : g.elements;
}

// Of what the rule knows of one group.
struct hone_local {
  double rms;    // of the wanted values; of the whole buffer where nothing else is known
  double error;  // the largest that the reference itself makes here, against its run in double; 0:
                 // none, or not known
};

// How wrong an element is for its group. Bit 0: beyond atol and rtol * max(|want|, rms of the
// group), and by more than the reference's error explains; a few times that error count, up to what
// the scale of the whole buffer, `rms`, would allow. Bit 1: off by more than ten times rtol of its
// own value, whatever its neighbours and atol are. Numbers alone: what is not finite is
// hone_error's.
HONE_FN int hone_local_error(int type, double want, double got, struct hone_local local, double rms,
                             double rtol, double atol, double limit) {
  if (!hone_is_finite(want, limit) || !hone_is_finite(got, limit)) return 0;
  double diff = got - want, size = want < 0.0 ? -want : want;
  double explained = 4.0 * local.error, normal = 2.2250738585072014e-308;
  if (diff < 0.0) diff = -diff;
  double scale = size > local.rms ? size : local.rms;
  double most = rms > size ? rms : size;
  double allowed = rtol * scale, more = explained < rtol * most ? explained : rtol * most;
  if (more > allowed) allowed = more;
  if (type == HONE_F32 || type == HONE_BF16) normal = 1.1754943508222875e-38;
  if (type == HONE_F16 || type == HONE_E5M2) normal = 0.00006103515625;
  if (type == HONE_E4M3) normal = 0.015625;
  int result = diff <= atol + allowed ? 0 : 1;
  // Subnormal numbers have few digits, or none where they are flushed.
  if (size >= normal && diff > 10.0 * rtol * size && diff > explained) result |= 2;
  return result;
}
