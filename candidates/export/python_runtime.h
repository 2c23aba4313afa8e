// The text that every exported Python module has, whatever its task. Private to candidates/export.
#pragma once

#include <string_view>

namespace hone::exporting {

/// Ends every CUDA source: tells the types of each kernel's parameters, which a launch from Python
/// has to match, where no compiler converts. Read back from the loaded module.
inline constexpr std::string_view kSignatures = R"TEXT(
// What parameters the kernels have, for the launches from Python.
template <class hone_T> struct hone_kind {  // T: a tensor map
  static constexpr char hone_value = sizeof(hone_T) == 128 && alignof(hone_T) % 64 == 0 ? 'T' : 'x';
};
template <class hone_T> struct hone_kind<hone_T*> { static constexpr char hone_value = 'P'; };
template <> struct hone_kind<bool> { static constexpr char hone_value = '?'; };
template <> struct hone_kind<char> { static constexpr char hone_value = 'b'; };
template <> struct hone_kind<signed char> { static constexpr char hone_value = 'b'; };
template <> struct hone_kind<unsigned char> { static constexpr char hone_value = 'B'; };
template <> struct hone_kind<short> { static constexpr char hone_value = 'h'; };
template <> struct hone_kind<unsigned short> { static constexpr char hone_value = 'H'; };
template <> struct hone_kind<int> { static constexpr char hone_value = 'i'; };
template <> struct hone_kind<unsigned int> { static constexpr char hone_value = 'I'; };
template <> struct hone_kind<long> { static constexpr char hone_value = sizeof(long) == 8 ? 'q' : 'i'; };
template <> struct hone_kind<unsigned long> {
  static constexpr char hone_value = sizeof(long) == 8 ? 'Q' : 'I';
};
template <> struct hone_kind<long long> { static constexpr char hone_value = 'q'; };
template <> struct hone_kind<unsigned long long> { static constexpr char hone_value = 'Q'; };
template <> struct hone_kind<float> { static constexpr char hone_value = 'f'; };
template <> struct hone_kind<double> { static constexpr char hone_value = 'd'; };
#ifdef __CUDA_FP16_TYPES_EXIST__
template <> struct hone_kind<__half> { static constexpr char hone_value = 'e'; };
#endif
#ifdef __CUDA_BF16_TYPES_EXIST__
template <> struct hone_kind<__nv_bfloat16> { static constexpr char hone_value = 'E'; };
#endif
template <class hone_T> struct hone_signature;
template <class... hone_P> struct hone_signature<void (*)(hone_P...)> {
  char hone_kinds[sizeof...(hone_P) + 1] = {hone_kind<hone_P>::hone_value..., '.'};
};
template <class... hone_P> struct hone_signature<void (*)(hone_P...) noexcept> {
  char hone_kinds[sizeof...(hone_P) + 1] = {hone_kind<hone_P>::hone_value..., '.'};
};
)TEXT";

/// After the imports. Uses _DTYPES of the form.
inline constexpr std::string_view kPythonCommon = R"TEXT(
def _div(a, b):
    """As C divides: towards zero."""
    if b == 0:
        raise ValueError("a size expression divides by zero")
    if a >= 0 and b > 0:
        return a // b
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _rem(a, b):
    return a - b * _div(a, b)


def _ceildiv(a, b):
    quotient = _div(a, b)
    return quotient + 1 if quotient * b != a and (a < 0) == (b < 0) else quotient


class _Buffer(int):
    """The argument of a kernel that is a buffer: which one. Scratch comes after the caller's."""


class _TensorMap:
    """The argument of a kernel that is a tensor map of a buffer: which one, a CUtensorMapDataType, extents from
    the innermost dimension out, strides of all others [B], what one copy takes, a CUtensorMapSwizzle."""

    def __init__(self, buffer, type_, sizes, strides, box, swizzle):
        self.buffer = buffer
        self._numbers = type_, sizes, strides, box, swizzle

    def encoded(self, address):
        """The bytes of the CUtensorMap for the buffer's address."""
        type_, sizes, strides, box, swizzle = self._numbers
        rank = len(sizes)
        memory = (ctypes.c_uint64 * 32)()
        place = -(-ctypes.addressof(memory) // 128) * 128
        result = ctypes.CDLL("libcuda.so.1").cuTensorMapEncodeTiled(
            ctypes.c_void_p(place),
            type_,
            rank,
            ctypes.c_void_p(address),
            (ctypes.c_uint64 * 5)(*sizes),
            (ctypes.c_uint64 * 4)(*strides),
            (ctypes.c_uint32 * 5)(*box),
            (ctypes.c_uint32 * 5)(1, 1, 1, 1, 1),
            0,  # CU_TENSOR_MAP_INTERLEAVE_NONE
            swizzle,
            3,  # CU_TENSOR_MAP_L2_PROMOTION_L2_256B
            0,  # CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE
        )
        if result != 0:
            raise RuntimeError(f"cuTensorMapEncodeTiled: error {result}")
        return ctypes.string_at(place, 128)


def _check_kind(kind, argument):
    given = {_Buffer: "P", _TensorMap: "T"}.get(type(argument), "number")
    if given != (kind if kind in "PT" else "number"):
        names = {"P": "a pointer", "T": "a tensor map"}
        takes, gets = (names.get(one, "a number") for one in (kind, given))
        raise TypeError(f"a kernel takes {takes} where it is given {gets}")


def _packed(kind, value):
    """A number as the bytes of a kernel's parameter."""
    if kind in "fde":
        return struct.pack("<" + kind, float(value))
    if kind == "E":  # bfloat16: the upper half of a float, rounded to even
        bits = struct.unpack("<I", struct.pack("<f", float(value)))[0]
        return struct.pack("<H", (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16)
    if kind == "?":
        return struct.pack("<?", bool(value))
    if kind not in "bBhHiIqQ":
        raise TypeError("a kernel takes a parameter of a type that cannot be passed from Python")
    value = int(value)
    if kind in "BHIQ" and value < 0:
        value += 1 << (8 * struct.calcsize("<" + kind))
    try:
        return struct.pack("<" + kind, value)
    except struct.error:
        raise ValueError(f"the sizes are too large: a kernel cannot take {value}") from None


class _Launch:
    def __init__(self, kernel, grid, block, shared, arguments):
        self.kernel = kernel
        self.grid = tuple(grid) + (1,) * (3 - len(grid))
        self.block = tuple(block) + (1,) * (3 - len(block))
        self.shared = shared
        self.arguments = arguments
        limits = zip(self.grid + self.block, (2**31 - 1, 65535, 65535, 1024, 1024, 64))
        threads = self.block[0] * self.block[1] * self.block[2]
        if not all(1 <= value <= most for value, most in limits) or threads > 1024:
            raise ValueError(
                f"the sizes give a grid of {self.grid} blocks of {self.block} threads,"
                " which CUDA does not allow"
            )
        if not 0 <= shared < 2**31:
            raise ValueError(f"the sizes give {shared} bytes of shared memory")


class _Program:
    """CUDA source and what to launch at which sizes."""

    def __init__(self, capability, exactly, source, kernels, arities, scratch, launches):
        self.capability = capability
        self.exactly = exactly
        self.source = source
        self.kernels = kernels
        self.arities = arities  # how many parameters each kernel has
        self._scratch = scratch
        self._launches = launches
        self._plans = {}
        self.loaded = {}  # by device

    def fits(self, capability):
        return self.capability == capability if self.exactly else self.capability <= capability

    def plan(self, sizes):
        """Scratch buffers as (type, shape), and launches."""
        plan = self._plans.get(sizes)
        if plan is None:
            scratch = self._scratch(*sizes)
            for _, shape in scratch:
                if any(extent < 1 for extent in shape):
                    raise ValueError(f"the sizes give a temporary of shape {shape}")
            plan = scratch, [_Launch(*launch) for launch in self._launches(*sizes)]
            if len(self._plans) > 1000:
                self._plans.clear()
            self._plans[sizes] = plan
        return plan


_lock = threading.RLock()


def _sizes_of(inputs, given):
    """Every size, in the order of _SIZES: from shapes, or as it was given."""
    for (name, _, _, shape_length), value in zip(_INPUTS, inputs):
        if len(value.shape) != shape_length:
            raise ValueError(
                f"{name} has {len(value.shape)} dimensions; it must have {shape_length}"
            )
    sizes = []
    given = dict(zip(_GIVEN, given))
    for name, _ in _SIZES:
        if name in given:
            sizes.append(given[name])
        else:
            index, dimension = _INFERRED[name]
            sizes.append(inputs[index].shape[dimension])
    return tuple(sizes)


def _check(inputs, sizes):
    """Shapes of all of the caller's buffers; raises where something does not fit."""
    for (name, _), value in zip(_SIZES, sizes):
        if not 1 <= value <= 2**40:
            raise ValueError(f"the size {name} is {value}; it must be at least 1")
    shapes = _shapes(*sizes)
    for (name, _, _, _), shape in zip(_BUFFERS, shapes):
        if any(extent < 1 for extent in shape):
            raise ValueError(f"the sizes give {name} the shape {shape}")
    if not _constraints(*sizes):
        raise ValueError(
            "the task allows no such sizes: "
            + ", ".join(f"{name} = {value}" for (name, _), value in zip(_SIZES, sizes))
        )
    wanted = [s for (_, _, role, _), s in zip(_BUFFERS, shapes) if role != "out"]
    for (name, type_, _, _), value, shape in zip(_INPUTS, inputs, wanted):
        if tuple(value.shape) != tuple(shape):
            raise ValueError(f"{name} has shape {tuple(value.shape)}; it must be {tuple(shape)}")
        if value.dtype != _DTYPES[type_]:
            raise TypeError(f"{name} is of {value.dtype}; it must be {_DTYPES[type_]}")
    return shapes


def _check_overlap(ranges):
    """What is written may not be read as something else: (name, role, begin, end)."""
    for i, (name, role, begin, end) in enumerate(ranges):
        for other, other_role, other_begin, other_end in ranges[:i]:
            if "inout" in (role, other_role) and begin < other_end and other_begin < end:
                raise ValueError(f"{name} and {other} overlap in memory")


def _choose(capability, sizes, addresses):
    """A candidate at its sizes, on its device, with pointers as cudaMalloc gives; or the reference."""
    if sizes == tuple(value for _, value in _SIZES) and all(a % 16 == 0 for a in addresses):
        for program in _CANDIDATES:
            if program.fits(capability):
                return program
    return _REFERENCE
)TEXT";

}  // namespace hone::exporting
