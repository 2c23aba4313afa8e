// The text of PyTorch's and CuPy's ways to compile and launch. Private to candidates/export.
#pragma once

#include <string_view>

namespace hone::exporting {

inline constexpr std::string_view kTorchRuntime = R"TEXT(
_DTYPES = {
    "f32": torch.float32,
    "f64": torch.float64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
    "i32": torch.int32,
    "i64": torch.int64,
    "i8": torch.int8,
    "u8": torch.uint8,
    "u32": torch.uint32,
    "u64": torch.uint64,
    "bool": torch.bool,
}


def _folders(name):
    """Where PyTorch's wheels and a CUDA toolkit have their `lib`, `include`."""
    packages = os.path.dirname(os.path.dirname(os.path.abspath(torch.__file__)))
    found = sorted(glob.glob(os.path.join(packages, "nvidia", "*", name)))
    found.append(os.path.join(packages, "torch", name))
    for home in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if home:
            found += [os.path.join(home, name), os.path.join(home, name + "64")]
    return [folder for folder in found if os.path.isdir(folder)]


class _Nvrtc:
    """NVRTC as PyTorch ships it: several kernels, templates and options that
    torch.cuda._compile_kernel does not know."""

    def __init__(self):
        if torch.version.cuda is None:
            raise RuntimeError("this PyTorch was built without CUDA")
        major = torch.version.cuda.split(".")[0]
        names = []
        for folder in _folders("lib"):
            names += sorted(glob.glob(os.path.join(folder, f"libnvrtc.so.{major}*")))
            names += sorted(glob.glob(os.path.join(folder, "libnvrtc-[0-9a-f]*.so*")))
        self.library = None
        for name in names + [f"libnvrtc.so.{major}", "libnvrtc.so"]:
            try:
                self.library = ctypes.CDLL(name)
                break
            except OSError:
                continue
        if self.library is None:
            raise RuntimeError(f"there is no libnvrtc.so.{major}, which PyTorch's wheels bring along")
        self.library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def _call(self, function, *arguments):
        result = getattr(self.library, function)(*arguments)
        if result != 0:
            text = self.library.nvrtcGetErrorString(result).decode()
            raise RuntimeError(f"{function}: {text}")

    def _bytes(self, program, size_of, get):
        size = ctypes.c_size_t()
        self._call(size_of, program, ctypes.byref(size))
        text = ctypes.create_string_buffer(max(size.value, 1))
        self._call(get, program, text)
        return text.raw[: size.value]

    def compile(self, source, kernels, capability):
        """Machine code, and the kernels' names in it."""
        # Code never leaves the device it is compiled for: it may use all that this one has.
        features = "a" if capability >= 90 else ""
        options = [f"--gpu-architecture=sm_{capability}{features}", "-std=c++20", "-default-device"]
        for folder in _folders("include"):
            options.append("-I" + folder)
            if os.path.isdir(os.path.join(folder, "cccl")):
                options.append("-I" + os.path.join(folder, "cccl"))
        program = ctypes.c_void_p()
        self._call(
            "nvrtcCreateProgram", ctypes.byref(program), source.encode(), b"hone.cu", 0, None, None
        )
        try:
            for kernel in kernels:
                self._call("nvrtcAddNameExpression", program, kernel.encode())
            array = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
            if self.library.nvrtcCompileProgram(program, len(options), array) != 0:
                log = self._bytes(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog")
                raise RuntimeError(
                    f"NVRTC does not compile this for sm_{capability}:\n"
                    + log.rstrip(b"\0").decode(errors="replace")
                )
            names = []
            for kernel in kernels:
                name = ctypes.c_char_p()
                self._call("nvrtcGetLoweredName", program, kernel.encode(), ctypes.byref(name))
                names.append(name.value)
            return self._bytes(program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN"), names
        finally:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))


_nvrtc = None
_driver = None


def _cuda(function, *arguments):
    global _driver
    if _driver is None:
        _driver = ctypes.CDLL("libcuda.so.1")
        pointer = ctypes.c_void_p
        _driver.cuLaunchKernel.argtypes = (
            [pointer] + [ctypes.c_uint] * 7 + [pointer, pointer, pointer]
        )
    result = getattr(_driver, function)(*arguments)
    if result != 0:
        text = ctypes.c_char_p()
        _driver.cuGetErrorString(result, ctypes.byref(text))
        message = text.value.decode() if text.value else f"error {result}"
        raise RuntimeError(f"{function}: {message}")


def _load(program, index, capability):
    """[(function, its parameters' kinds)] on a device, which is the current one."""
    global _nvrtc
    with _lock:
        loaded = program.loaded.get(index)
        if loaded is not None:
            return loaded
        if _nvrtc is None:
            _nvrtc = _Nvrtc()
        cubin, names = _nvrtc.compile(program.source, program.kernels, capability)
        module = ctypes.c_void_p()
        _cuda("cuModuleLoadData", ctypes.byref(module), cubin)
        loaded = []
        for number, name in enumerate(names):
            function = ctypes.c_void_p()
            _cuda("cuModuleGetFunction", ctypes.byref(function), module, name)
            address, size = ctypes.c_uint64(), ctypes.c_size_t()
            _cuda(
                "cuModuleGetGlobal_v2",
                ctypes.byref(address),
                ctypes.byref(size),
                module,
                f"hone_signature_{number}".encode(),
            )
            kinds = ctypes.create_string_buffer(size.value)
            _cuda("cuMemcpyDtoH_v2", kinds, address, size)
            kinds = kinds.raw.decode().rstrip(".")
            if len(kinds) != program.arities[number]:
                raise TypeError(f"a kernel takes {len(kinds)} arguments, not {program.arities[number]}")
            loaded.append((function, kinds))
        program.loaded[index] = loaded
        return loaded


def _launch(launch, function, kinds, buffers, stream):
    if launch.shared > 0:  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        _cuda("cuFuncSetAttribute", function, 8, launch.shared)
    values = []
    for kind, argument in zip(kinds, launch.arguments):
        _check_kind(kind, argument)
        if kind == "P":
            values.append(ctypes.c_uint64(buffers[argument].data_ptr()))
        else:
            if kind == "T":
                packed = argument.encoded(buffers[argument.buffer].data_ptr())
            else:
                packed = _packed(kind, argument)
            values.append(ctypes.create_string_buffer(packed, len(packed)))
    parameters = (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])
    _cuda(
        "cuLaunchKernel", function, *launch.grid, *launch.block, launch.shared, stream, parameters, None
    )


def _capability(device):
    major, minor = torch.cuda.get_device_capability(device)
    return 10 * major + minor


def _run(inputs, given):
    sizes = _sizes_of(inputs, given)
    shapes = _check(inputs, sizes)
    device = inputs[0].device if inputs else torch.device("cuda", torch.cuda.current_device())
    for (name, _, _, _), value in zip(_INPUTS, inputs):
        if value.device.type != "cuda":
            raise ValueError(f"{name} is on {value.device}; it must be on a CUDA device")
        if value.device != device:
            raise ValueError(f"{name} is on {value.device}, {_INPUTS[0][0]} on {device}")
        if not value.is_contiguous():
            raise ValueError(f"{name} is not contiguous: call .contiguous() first")
    _check_overlap(
        [
            (name, role, v.data_ptr(), v.data_ptr() + v.numel() * v.element_size())
            for (name, _, role, _), v in zip(_INPUTS, inputs)
        ]
    )
    with torch.cuda.device(device):
        rest = iter(inputs)
        buffers = []
        for (_, type_, role, _), shape in zip(_BUFFERS, shapes):
            if role == "out":
                buffers.append(torch.empty(shape, dtype=_DTYPES[type_], device=device))
            else:
                buffers.append(next(rest))
        outputs = [b for (_, _, role, _), b in zip(_BUFFERS, buffers) if role == "out"]
        capability = _capability(device)
        program = _choose(capability, sizes, [b.data_ptr() for b in buffers])
        scratch, launches = program.plan(sizes)
        for type_, shape in scratch:
            buffers.append(torch.empty(shape, dtype=_DTYPES[type_], device=device))
        functions = _load(program, device.index, capability)
        stream = torch.cuda.current_stream(device).cuda_stream
        for launch in launches:
            function, kinds = functions[launch.kernel]
            _launch(launch, function, kinds, buffers, stream)
    return outputs


def _run_fake(inputs, given):
    """What _run gives, without data."""
    shapes = _shapes(*_sizes_of(inputs, given))
    device = inputs[0].device if inputs else torch.device("cuda")
    return [
        torch.empty(shape, dtype=_DTYPES[type_], device=device)
        for (_, type_, role, _), shape in zip(_BUFFERS, shapes)
        if role == "out"
    ]


def compile_now(device=None):
    """Compiles and loads what a device may run, before the first call does (which cannot be while
    a CUDA graph is captured)."""
    device = torch.device("cuda", torch.cuda.current_device() if device is None else device)
    with torch.cuda.device(device):
        torch.empty(1, device=device)  # makes the context
        capability = _capability(device)
        for program in (*_CANDIDATES, _REFERENCE):
            if program is _REFERENCE or program.fits(capability):
                _load(program, device.index, capability)
)TEXT";

inline constexpr std::string_view kCupyRuntime = R"TEXT(
_DTYPES = {
    "f32": numpy.dtype(numpy.float32),
    "f64": numpy.dtype(numpy.float64),
    "f16": numpy.dtype(numpy.float16),
    "bf16": numpy.dtype(numpy.uint16),  # its bits: CuPy has no such type everywhere
    "e4m3": numpy.dtype(numpy.uint8),  # its bits: CuPy has no 8-bit floats
    "e5m2": numpy.dtype(numpy.uint8),
    "i32": numpy.dtype(numpy.int32),
    "i64": numpy.dtype(numpy.int64),
    "i8": numpy.dtype(numpy.int8),
    "u8": numpy.dtype(numpy.uint8),
    "u32": numpy.dtype(numpy.uint32),
    "u64": numpy.dtype(numpy.uint64),
    "bool": numpy.dtype(numpy.bool_),
}


_NUMBERS = {"e": numpy.float16, "E": numpy.uint16, "f": numpy.float32, "d": numpy.float64}


def _load(program, index):
    """[(function, its parameters' kinds)] on a device, which is the current one."""
    with _lock:
        loaded = program.loaded.get(index)
        if loaded is not None:
            return loaded
        # CuPy adds the architecture, -default-device, and -ftz=true: denormals are zero.
        module = cupy.RawModule(
            code=program.source, options=("--std=c++20",), name_expressions=program.kernels
        )
        loaded = []
        for number, name in enumerate(program.kernels):
            function = module.get_function(name)
            memory = module.get_global(f"hone_signature_{number}")
            kinds = cupy.ndarray((program.arities[number] + 1,), dtype=numpy.uint8, memptr=memory)
            kinds, dot, _ = kinds.get().tobytes().partition(b".")
            if not dot or len(kinds) != program.arities[number]:
                raise TypeError(f"{name} does not take {program.arities[number]} arguments")
            loaded.append((function, kinds.decode()))
        program.loaded[index] = loaded
        return loaded


def _launch(launch, function, kinds, buffers):
    if launch.shared > 0:
        function.max_dynamic_shared_size_bytes = launch.shared
    arguments = []
    for kind, argument in zip(kinds, launch.arguments):
        _check_kind(kind, argument)
        if kind == "P":
            arguments.append(buffers[argument])
        elif kind == "T":
            encoded = argument.encoded(buffers[argument.buffer].data.ptr)
            arguments.append(numpy.frombuffer(encoded, dtype="V128")[0])
        else:
            packed = _packed(kind, argument)
            dtype = _NUMBERS.get(kind, "<" + kind)
            arguments.append(numpy.frombuffer(packed, dtype=dtype)[0])
    function(launch.grid, launch.block, tuple(arguments), shared_mem=launch.shared)


def _capability():
    return int(cupy.cuda.Device().compute_capability)


def _run(inputs, given):
    for (name, _, _, _), value in zip(_INPUTS, inputs):
        if not isinstance(value, cupy.ndarray):
            raise TypeError(f"{name} is a {type(value).__name__}; it must be a cupy.ndarray")
    sizes = _sizes_of(inputs, given)
    shapes = _check(inputs, sizes)
    device = inputs[0].device if inputs else cupy.cuda.Device()
    for (name, _, _, _), value in zip(_INPUTS, inputs):
        if value.device != device:
            raise ValueError(f"{name} is on {value.device}, {_INPUTS[0][0]} on {device}")
        if not value.flags.c_contiguous:
            raise ValueError(f"{name} is not contiguous: use cupy.ascontiguousarray() first")
    _check_overlap(
        [
            (name, role, v.data.ptr, v.data.ptr + v.nbytes)
            for (name, _, role, _), v in zip(_INPUTS, inputs)
        ]
    )
    with device:
        rest = iter(inputs)
        buffers = []
        for (_, type_, role, _), shape in zip(_BUFFERS, shapes):
            buffers.append(cupy.empty(shape, _DTYPES[type_]) if role == "out" else next(rest))
        outputs = [b for (_, _, role, _), b in zip(_BUFFERS, buffers) if role == "out"]
        program = _choose(_capability(), sizes, [b.data.ptr for b in buffers])
        scratch, launches = program.plan(sizes)
        for type_, shape in scratch:
            buffers.append(cupy.empty(shape, _DTYPES[type_]))
        functions = _load(program, device.id)
        for launch in launches:
            function, kinds = functions[launch.kernel]
            _launch(launch, function, kinds, buffers)
    return outputs


def compile_now(device=None):
    """Compiles and loads what a device may run, before the first call does."""
    with cupy.cuda.Device(device):
        index = cupy.cuda.Device().id
        for program in (*_CANDIDATES, _REFERENCE):
            if program is _REFERENCE or program.fits(_capability()):
                _load(program, index)
)TEXT";

}  // namespace hone::exporting
