"""Launches plans (`candidates/launch/README.md` of hone has their format) by NVIDIA's driver and nothing else. The text
of this file, after the line of dashes, stands in each file that `hone.write` makes with cubins: it imports
nothing of hone, and no GPU is touched before the first launch."""
# ------------------------------------------------------------------------------------------------
import base64
import ctypes
import struct
import threading
import warnings
import zlib
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

import torch

_hone_lock = threading.Lock()
_hone_driver: Any = None


def _hone_check(result: int, function: str) -> None:
    """RuntimeError: what the driver says of a call that failed."""
    if result != 0:
        text = ctypes.c_char_p()
        _hone_driver.cuGetErrorString(result, ctypes.byref(text))
        raise RuntimeError(f"{function}: {text.value.decode() if text.value else f'error {result}'}")


def _hone_cuda(function: str, *arguments: Any) -> None:
    """Calls the driver, which is opened here. RuntimeError: what it says."""
    global _hone_driver
    if _hone_driver is None:
        driver = ctypes.CDLL("libcuda.so.1")
        pointer, number = ctypes.c_void_p, ctypes.c_uint
        driver.cuLaunchKernel.argtypes = [pointer, *[number] * 7, pointer, pointer, pointer]
        driver.cuCtxPushCurrent_v2.argtypes = [pointer]
        _hone_driver = driver
    _hone_check(getattr(_hone_driver, function)(*arguments), function)


class _HoneRelaxed:
    """Lets this thread load code for a while, even where a CUDA graph is captured."""

    def __enter__(self) -> None:
        self._mode = ctypes.c_int(2)  # CU_STREAM_CAPTURE_MODE_RELAXED
        _hone_cuda("cuThreadExchangeStreamCaptureMode", ctypes.byref(self._mode))

    def __exit__(self, *_: Any) -> None:
        _hone_cuda("cuThreadExchangeStreamCaptureMode", ctypes.byref(self._mode))


class _HoneContext:
    """Makes a GPU's primary context, which is PyTorch's, the current one for a while."""

    def __init__(self, index: int) -> None:
        device = ctypes.c_int()
        _hone_cuda("cuDeviceGet", ctypes.byref(device), index)
        self._handle = ctypes.c_void_p()
        _hone_cuda("cuDevicePrimaryCtxRetain", ctypes.byref(self._handle), device)

    def __enter__(self) -> None:
        _hone_cuda("cuCtxPushCurrent_v2", self._handle)

    def __exit__(self, *_: Any) -> None:
        _hone_cuda("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))


class _HoneTensorMap:
    """A CUtensorMap in a kernel's parameters, to be encoded for a buffer's address."""

    def __init__(self, read: Any, words: Any) -> None:
        """read: as _HoneLaunch has it; words: the parameters, where the driver reads them."""
        (offset, self.buffer, self.inside), (type_, swizzle, rank), box, numbers = read
        self._place = ctypes.addressof(words) + offset
        self._memory = (ctypes.c_uint64 * 32)()
        self._aligned = -(-ctypes.addressof(self._memory) // 128) * 128
        extents = (ctypes.c_uint64 * 5)(*numbers[:5]), (ctypes.c_uint64 * 4)(*numbers[5:])
        steps = (ctypes.c_uint32 * 5)(1, 1, 1, 1, 1)
        self._first = ctypes.c_void_p(self._aligned), type_, rank
        # No interleaving, an L2 promotion of 256 bytes, zeros beyond the tensor.
        self._rest = *extents, (ctypes.c_uint32 * 5)(*box), steps, 0, swizzle, 3, 0

    def encode(self, address: int) -> None:
        _hone_cuda("cuTensorMapEncodeTiled", *self._first, ctypes.c_void_p(address), *self._rest)
        ctypes.memmove(self._place, self._aligned, 128)


class _HoneLaunch:
    """One launch of a plan, as it is read."""

    def __init__(self, take: Any) -> None:
        self.kernel, *dimensions, size, parameters, pointers, tensor_maps = take("12I")
        self.dimensions = tuple(dimensions)  # of the grid, of a block, and the shared memory [B]
        self.shared_bytes = self.dimensions[6]
        self.parameters: bytes = take(f"{size}s")[0]
        self.offsets = take(f"{parameters}I")  # where each parameter begins in these [B]
        # Offset in the parameters [B], which buffer, offset in the scratch memory [B].
        self.pointers = [take("2IQ") for _ in range(pointers)]
        # The same, then type, swizzle, dimensions; box, extents and strides from the innermost out.
        self.tensor_maps = [(take("2IQ"), take("3I"), take("5I"), take("9Q")) for _ in range(tensor_maps)]


class _HoneCall:
    """A launch made ready for one thread and GPU: its parameters lie where the driver reads them."""

    def __init__(self, launch: _HoneLaunch, function: Any) -> None:
        size = len(launch.parameters)
        self.words = (ctypes.c_uint64 * (size // 8 + 1))()
        ctypes.memmove(self.words, launch.parameters, size)
        starts = [ctypes.addressof(self.words) + offset for offset in launch.offsets]
        self.starts = (ctypes.c_void_p * (len(starts) + 1))(*starts, None)
        self.first = function, *map(ctypes.c_uint, launch.dimensions)
        # A pointer's offset is a multiple of its size.
        self.pointers = [(offset // 8, buffer, inside) for offset, buffer, inside in launch.pointers]
        self.tensor_maps = [_HoneTensorMap(read, self.words) for read in launch.tensor_maps]


class _HonePlan:
    """Machine code for one architecture and a list of launches. Any thread may launch it."""

    _SCRATCH = 2**32 - 1

    def __init__(self, text: str) -> None:
        """text: a plan, compressed by zlib, in base 85."""
        self._text = text
        # Scratch memory [B], names of kernels, launches, machine code; once a launch needs them.
        self._parts: Optional[Tuple[int, List[bytes], List[_HoneLaunch], bytes]] = None
        self._refused: Set[int] = set()  # GPUs that cannot load it
        # Of a GPU's number: its context, functions.
        self._loaded: Dict[int, Tuple[_HoneContext, List[Any]]] = {}
        self._calls = threading.local()  # of a GPU's number: its context, scratch memory [B], calls

    def _read(self) -> Tuple[int, List[bytes], List[_HoneLaunch], bytes]:
        data = zlib.decompress(base64.b85decode(self._text))
        place = 0

        def take(form: str) -> Tuple[Any, ...]:
            nonlocal place
            values = struct.unpack_from("<" + form, data, place)
            place += struct.calcsize("<" + form)
            return values

        magic, version, _, kernels, launches, scratch, image = take("8s4I2Q")
        if magic != b"HONEPLAN" or version != 3:
            raise RuntimeError("this is no plan that can be read here")
        names = [take(f"{take('I')[0]}s")[0] for _ in range(kernels)]
        listed = [_HoneLaunch(take) for _ in range(launches)]
        return scratch, names, listed, take(f"{image}s")[0]

    def _load_on(self, index: int) -> None:
        with _hone_lock:
            if self._parts is None:
                self._parts = self._read()
            if index in self._loaded:
                return
            _, names, launches, image = self._parts
            for launch in launches:
                if any(place + 128 > len(launch.parameters) for (place, *_), *_ in launch.tensor_maps):
                    raise RuntimeError("this is no plan that can be read here")
            context, module, functions = _HoneContext(index), ctypes.c_void_p(), []
            if any(launch.tensor_maps for launch in launches) and not hasattr(
                _hone_driver, "cuTensorMapEncodeTiled"
            ):
                raise RuntimeError("the NVIDIA driver is too old: it has no cuTensorMapEncodeTiled")
            with context, _HoneRelaxed():
                _hone_cuda("cuModuleLoadData", ctypes.byref(module), image)
                for number, name in enumerate(names):
                    function = ctypes.c_void_p()
                    _hone_cuda("cuModuleGetFunction", ctypes.byref(function), module, name)
                    shared = max(l.shared_bytes for l in launches if l.kernel == number)
                    if shared > 0:  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                        _hone_cuda("cuFuncSetAttribute", function, 8, shared)
                    if hasattr(_hone_driver, "cuFuncLoad"):  # else at its first launch
                        _hone_cuda("cuFuncLoad", function)
                    functions.append(function)
            self._loaded[index] = context, functions

    def _calls_on(self, index: int) -> Tuple[_HoneContext, int, List[_HoneCall]]:
        """Of this thread: what one thread writes there another must not."""
        calls: Any = self._calls.__dict__
        if index not in calls:
            self._load_on(index)
            assert self._parts is not None
            context, functions = self._loaded[index]
            listed = [_HoneCall(launch, functions[launch.kernel]) for launch in self._parts[2]]
            calls[index] = context, self._parts[0], listed
        return calls[index]  # type: ignore[no-any-return]

    def is_loaded_on(self, device: torch.device) -> bool:
        """Loads the code where that was not done. False, after a warning: the driver refuses it."""
        index = device.index or 0
        if index not in self._loaded and index not in self._refused:
            try:
                self._load_on(index)
            except (OSError, RuntimeError) as error:
                self._refused.add(index)
                warnings.warn(f"PyTorch runs in place of hone's kernels: {error}", stacklevel=2)
        return index in self._loaded

    def launch(self, buffers: Sequence[torch.Tensor], device: torch.device, stream: int) -> None:
        """Puts all launches into a stream. buffers: the tensors of the plan, in their order, each aligned
        to 16 bytes, on `device`. The first call on a GPU loads the code."""
        context, scratch_bytes, calls = self._calls_on(device.index or 0)
        scratch = 0
        if scratch_bytes:
            memory = torch.empty(scratch_bytes, dtype=torch.uint8, device=device)
            scratch = memory.data_ptr()
        addresses = [buffer.data_ptr() for buffer in buffers]
        start = _hone_driver.cuLaunchKernel
        with context:
            for call in calls:
                words = call.words
                for place, buffer, inside in call.pointers:
                    words[place] = scratch + inside if buffer == self._SCRATCH else addresses[buffer]
                for tensor_map in call.tensor_maps:
                    at = tensor_map.buffer
                    tensor_map.encode(
                        scratch + tensor_map.inside if at == self._SCRATCH else addresses[at]
                    )
                _hone_check(start(*call.first, stream, call.starts, None), "cuLaunchKernel")


def _hone_ready(plans: Dict[str, _HonePlan], device: torch.device) -> bool:
    """Whether all of a call's kernels can run."""
    return all(plan.is_loaded_on(device) for plan in plans.values())
