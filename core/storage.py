"""The torch boundary: memory is taken, viewed, copied and handed to other libraries here.

Everything above works with the tensors that these functions give and with `core.kernels`, and
never imports torch itself.
"""

from __future__ import annotations

import functools
import math
import os
import sys
import weakref
from collections.abc import Iterable, Sequence

import numpy as np
import torch

from core import heap, symbolic
from core.base import MXNetError
from core.dtypes import dtype_name
from core.extents import Extent
from core.placement import state as placement

Tensor = torch.Tensor
Dtype = torch.dtype
Device = torch.device

TORCH: dict[str, torch.dtype] = {
    name: getattr(torch, name)
    for name in ("float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool".split())
}
_CPU = torch.device("cpu")
# A tensor of the same memory until one of the two is written to; RuntimeError for memory of other
# libraries or processes.
copy_on_write = Tensor._lazy_clone
NAMES: dict[torch.dtype, str] = {dtype: name for name, dtype in TORCH.items()}


def _use_huge_pages() -> None:
    """Asks for pages of 2 MiB for large blocks, where Linux leaves that to the program.

    Whole activations and gradients are read and written again and again: with small pages a processor looks up
    thousands of addresses to do so. Measured: 2 % of a ResNet-50, 3 % of a training step of an LSTM.
    """
    try:
        with open("/sys/kernel/mm/transparent_hugepage/enabled", encoding="ascii") as file:
            left_to_us = "[madvise]" in file.read()
    except OSError:  # not Linux, or without such pages
        return
    if left_to_us and _HUGE_PAGES not in os.environ:
        os.environ[_HUGE_PAGES] = "1"
        torch.empty(1)  # torch looks at its first block
        del os.environ[_HUGE_PAGES]  # other programs choose for themselves


_HUGE_PAGES = "THP_MEM_ALLOC_ENABLE"
heap.keep_freed_memory()
_use_huge_pages()


def torch_dtype(dtype) -> torch.dtype:
    """The torch dtype for a name, NumPy dtype or type."""
    found = TORCH.get(dtype) if isinstance(dtype, str) else None
    return found if found is not None else TORCH[dtype_name(dtype)]


def device(ctx) -> torch.device:
    """Where arrays of a context live. MXNetError for a GPU that is not there, or something that is no context."""
    if getattr(ctx, "device_type", None) is None:
        raise MXNetError(f"ctx={ctx!r} is no context; mx.cpu() or mx.gpu(0) are accepted")
    if ctx.device_type != "gpu":
        return _CPU
    if ctx.device_id >= torch.cuda.device_count():
        raise MXNetError(f"there is no {ctx}: this machine has {torch.cuda.device_count()} usable GPUs")
    return torch.device("cuda", ctx.device_id)


def num_gpus() -> int:
    """Number of CUDA devices that can be used."""
    return torch.cuda.device_count()


def gpu_memory(device_id: int) -> tuple[int, int]:
    """(free, total) bytes of a CUDA device."""
    return torch.cuda.mem_get_info(device_id)


def memory_in_use() -> dict[str, int]:
    """Bytes that this process holds: resident ones on the CPU, allocated ones on each GPU."""
    return {"cpu/0": heap.resident(), **{f"gpu/{i}": torch.cuda.memory_allocated(i) for i in range(num_gpus())}}


def compute_capability(device_id: int) -> int:
    """The compute capability of a CUDA device, major * 10 + minor."""
    major, minor = torch.cuda.get_device_capability(device_id)
    return major * 10 + minor


def empty_cache() -> None:
    """Gives memory that torch keeps for reuse back to the driver."""
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def synchronize() -> None:
    """Waits until every device has finished its work."""
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


def empty(shape: Sequence[int], dtype, ctx) -> Tensor:
    """Row-major memory of unset values; dtype: a name or a type of NumPy's."""
    if any([type(n) is Extent for n in shape]):
        return symbolic.empty(shape, torch_dtype(dtype))
    return torch.empty(tuple(shape), dtype=torch_dtype(dtype), device=device(ctx))


def zeros(shape: Sequence[int], dtype, ctx) -> Tensor:
    """Zeros; arguments as those of `empty`."""
    if any([type(n) is Extent for n in shape]):
        return symbolic.empty(shape, torch_dtype(dtype))
    return torch.zeros(tuple(shape), dtype=torch_dtype(dtype), device=device(ctx))


def empty_like(tensor: Tensor, shape: Sequence[int], dtype=None) -> Tensor:
    """Row-major memory in the place of another tensor, and of its dtype unless one is given."""
    wanted = tensor.dtype if dtype is None else torch_dtype(dtype)
    return torch.empty(tuple(shape), dtype=wanted, device=tensor.device)


def full(shape: Sequence[int], value, dtype, ctx) -> Tensor:
    """One number everywhere; arguments as those of `empty`."""
    if any([type(n) is Extent for n in shape]):
        return symbolic.empty(shape, torch_dtype(dtype))
    kind = torch_dtype(dtype)
    return torch.full(tuple(shape), within(value, kind), dtype=kind, device=device(ctx))


LARGEST_HALF = 65504.0


def within(number, dtype: Dtype):
    """A number as an element of a type takes it: infinite beyond the largest, where ATen raises."""
    if -LARGEST_HALF <= number <= LARGEST_HALF or not dtype.is_floating_point or abs(number) <= torch.finfo(dtype).max:
        return number
    return math.copysign(math.inf, number) if number == number else number


def like(tensor: Tensor) -> tuple:
    """What is needed to make zeros like `tensor` without keeping it alive."""
    return tensor.shape, tensor.dtype, tensor.device


def zeros_of(description: tuple) -> Tensor:
    """Zeros as described by `like`."""
    shape, dtype, where = description
    return torch.zeros(shape, dtype=dtype, device=where)


def meta(shape: Sequence[int], dtype) -> Tensor:
    """A tensor without memory, on which shapes and dtypes are inferred; MXNetError for a negative length."""
    if min(shape, default=0) < 0:
        raise MXNetError(f"the lengths of a shape are from 0 on, given {tuple(shape)}")
    return symbolic.empty(shape, torch_dtype(dtype))


def is_meta(tensor: Tensor) -> bool:
    """Whether a tensor has no memory (see `meta`)."""
    return tensor.is_meta


def meta_like(tensor: Tensor) -> Tensor:
    """A tensor without memory of the same shape, dtype and strides."""
    if type(tensor) is symbolic.SymbolicTensor:
        return tensor.without_memory()
    placement.note_elsewhere()
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")


def layout(tensor: Tensor) -> tuple:
    """How a tensor lies in memory: what `empty_in` makes another one of."""
    return tensor.shape, tensor.stride(), tensor.dtype, tensor.device


def empty_in(description: tuple) -> Tensor:
    """Memory of unset values, as described by `layout`."""
    shape, strides, dtype, where = description
    return torch.empty_strided(shape, strides, dtype=dtype, device=where)


def dense(tensor: Tensor) -> Tensor:
    """The tensor itself where its elements fill a block of memory that is aligned to 16 bytes, else a copy."""
    return tensor if is_dense(tensor) and tensor.data_ptr() % 16 == 0 else copy_to(tensor)


def same_memory(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are views of one memory, also where there is none."""
    return a.untyped_storage()._cdata == b.untyped_storage()._cdata


def is_large(tensor: Tensor) -> bool:
    """Whether a copy takes longer than to find out whether one is needed (see `release`)."""
    return tensor.nbytes >= _WORTH_ASKING


def release(array) -> tuple | None:
    """Takes the memory of a large array's tensor away, if that goes unseen, and gives what `restored` is to make again.

    What is computed then finds the memory that the processor still holds, and there is one array less at a time. Until
    it gets a tensor again the array cannot be read.
    """
    tensor = array._data
    if not tensor.is_cpu or sys.getrefcount(tensor) > _HELD_ONCE:
        return None
    if tensor._base is not None or not tensor.is_contiguous() or not _is_plain(tensor):
        return None
    array._data = None
    return like(tensor)


def restored(description: tuple, holder: tuple | None, others: Iterable[tuple] = ()) -> Tensor:
    """The values of the last array in `holder` (None: zeros) as a tensor of a description that `release` gave.

    Without a copy if that goes unseen, as in `take_ownership`.
    """
    if holder is None:
        return zeros_of(description)
    source = holder[-1]._data
    shape, dtype, where = description
    if source.dtype is dtype and source.shape == shape and source.is_cpu and source.is_contiguous():
        source = None  # which holds it no longer
        donated = _donated(holder, others)
        if donated is not None:
            return donated
    return torch.empty(shape, dtype=dtype, device=where).copy_(holder[-1]._data)


def memory(tensor: Tensor) -> int:
    """What is equal for tensors that lie in one memory; those that share it until one is written to differ."""
    return tensor.untyped_storage()._cdata


def take_ownership(target: Tensor, holder: tuple, others: Iterable[tuple] = ()) -> bool:
    """Makes the values of the last array in `holder` those of `target` without a copy, if that goes unseen;
    whether it did.

    Memory that `holder` alone references becomes the target's: for all that hold `target` itself it is as if it had been
    written to. Memory that others use as well is shared until one of them writes. Not where a view of `target` is left,
    or another library looks into either memory. others: holders of arrays whose memory is about to be taken, too.
    """
    if not is_large(target) or target._base is not None or not _is_plain(target):
        return False
    source = holder[-1]._data
    if source.dtype is not target.dtype or source.device != target.device or source.shape != target.shape:
        return False
    if source.stride() != target.stride():
        return False
    source = None  # which holds it no longer
    donated = _donated(holder, others)
    if donated is None:
        return False
    target.set_(donated)
    return True


def _donated(holder: tuple, others: Iterable[tuple]) -> Tensor | None:
    """The tensor of the last array in `holder` itself, where that array alone holds it, or one that shares its memory
    until one of the two is written to; None where others would see that.
    """
    alone = sys.getrefcount(holder[-1]) == 2 and sys.getrefcount(holder[-1]._data) == 2  # the holder, and the question
    source = holder[-1]._data
    base = source._base
    siblings = (
        0 if base is None else sum(array.stype == "default" and array._data._base is base for *_, array in others)
    )
    if not _is_plain(source, siblings):
        return None
    if alone and source._base is None:
        return source
    if not source.is_cpu:  # Triton's kernels do not say which memory they write to
        return None
    return copy_on_write(source)


def flat(count: int, model: Tensor) -> Tensor:
    """A flat tensor of `count` elements, not set, of the dtype and on the device of another."""
    return torch.empty(count, dtype=model.dtype, device=model.device)


def hollow(description: tuple) -> Tensor:
    """A tensor as `like` describes it that takes no memory: every element is NaN."""
    shape, dtype, where = description
    return torch.full((1,), torch.nan, dtype=dtype, device=where).expand(shape)


def counted_alone(tensor: Tensor) -> Tensor:
    """A tensor over the same memory whose changes are counted apart from those of what else lies there."""
    return tensor.data


def count_change(tensors: Sequence[Tensor]) -> None:
    """Counts a change of each tensor, after a write that went by another one over the same memory."""
    torch._C._increment_version(tensors)


def is_view(tensor: Tensor) -> bool:
    """Whether a tensor looks into the memory of another one."""
    return tensor._base is not None


def lazy_clone(tensor: Tensor) -> Tensor:
    """The same values where no write to another tensor reaches them:
    the memory is shared until one of the two is written to. Packed weights, which nobody can write to, stay as they are.
    """
    if tensor.is_mkldnn:
        return tensor
    if tensor.is_meta:
        return tensor.clone()
    if tensor.is_contiguous() or 0 not in tensor.stride():
        try:
            return copy_on_write(tensor)
        except RuntimeError:
            pass
    return tensor.clone(memory_format=torch.contiguous_format)


def own_copy(tensor: Tensor) -> Tensor:
    """A copy; of a large tensor on a CPU that has its memory alone, one that shares it until one of the two is written to."""
    if is_large(tensor) and tensor.is_cpu and tensor._base is None and _is_plain(tensor):
        return lazy_clone(tensor)
    return tensor.clone()


_HELD_ONCE = 3  # references to a tensor that one array alone holds, in a function that is called with it
_WORTH_ASKING = 1 << 16  # bytes; fewer are copied in less time than it takes to find out


def _is_plain(tensor: Tensor, siblings: int = 0) -> bool:
    """Whether a tensor has a block of torch's memory for itself,
    but for what it is a view of and `siblings` more views.

    What keeps it must not keep more than as much memory again.
    """
    memory, base = tensor.untyped_storage(), tensor._base
    if not memory.resizable() or (tensor.is_cpu and memory.is_shared()):
        return False  # of another library, or another process
    users = torch._C._storage_Use_Count(memory._cdata) - 1  # but for `memory`
    if tensor._use_count() != 1 or memory.nbytes() > 2 * tensor.nbytes:
        return False
    return users == 1 if base is None else base._use_count() == 2 + siblings and users == 2 + siblings


def is_reached_by(tensor: Tensor, references: int) -> bool:
    """Whether no other tensor on a CPU lies in this one's memory, to which no more than these references in Python lead,
    the caller's among them.
    """
    if not tensor.is_cpu or tensor._base is not None or sys.getrefcount(tensor) > references + 2:
        return False
    memory = tensor.untyped_storage()
    return tensor._use_count() == 1 and torch._C._storage_Use_Count(memory._cdata) == 2


def is_dense(tensor: Tensor) -> bool:
    """Whether the elements fill a block of memory, each one in a place of its own."""
    layout = CHANNELS_LAST.get(tensor.dim())
    return tensor.is_contiguous() or (layout is not None and tensor.is_contiguous(memory_format=layout))


def from_numpy(array: np.ndarray, dtype=None, ctx=None, copy: bool = True) -> Tensor:
    """A tensor with the values of `array`; without `copy` it shares the memory where it can."""
    if array.dtype.kind in "OUSVM":
        array, copy = _numbers_of(array, dtype), False
    if not array.flags.writeable or any(s < 0 for s in array.strides) or not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="), copy=True)
        copy = False
    tensor = torch.from_numpy(array)
    wanted = tensor.dtype if dtype is None else torch_dtype(dtype)
    where = torch.device("cpu") if ctx is None else device(ctx)
    if tensor.dtype is wanted and where.type == "cpu":
        return tensor.clone(memory_format=torch.contiguous_format) if copy else tensor
    return tensor.to(device=where, dtype=wanted)


def of_own(array: np.ndarray, ctx) -> Tensor:
    """A tensor of a NumPy array of numbers in order that nobody else keeps: on the CPU it is the same memory."""
    tensor = torch.from_numpy(array)
    return tensor.to(device(ctx)) if ctx.device_type == "gpu" else tensor


def _numbers_of(array: np.ndarray, dtype) -> np.ndarray:
    """Objects and words as numbers, as NumPy converts them to a dtype: None is not a number. TypeError for others."""
    name = "float32" if dtype is None else NAMES[torch_dtype(dtype)]
    try:
        return array.astype("float32" if name == "bfloat16" else name)
    except (TypeError, ValueError) as error:
        raise TypeError(f"an array of dtype {array.dtype} has no numbers to take: {error}") from None


def to_numpy(tensor: Tensor) -> np.ndarray:
    """A NumPy copy of the values; bfloat16 becomes float32."""
    if tensor.is_meta:
        raise MXNetError("the array stands for no values: it was kept from the time when a hybridized block was traced")
    if tensor.dtype is torch.bfloat16:
        tensor = tensor.float()
    if tensor.is_cuda:
        return tensor.to("cpu", copy=True).contiguous().numpy()
    if is_large(tensor):  # a view of NumPy's would end that memory is shared until one writes, and keep it in place
        values = np.empty(tensor.shape, NAMES[tensor.dtype])
        torch.from_numpy(values).copy_(tensor)
        return values
    return tensor.contiguous().numpy().copy()


def bits(tensor: Tensor) -> np.ndarray:
    """The values as NumPy, bfloat16 as bits in uint16: the same memory where they are on the CPU."""
    if tensor.is_meta:
        raise MXNetError("the array stands for no values: it was kept from the time when a hybridized block was traced")
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.int16).cpu().numpy().view(np.uint16)
    return tensor.cpu().numpy()


def set_bits(tensor: Tensor, values: np.ndarray) -> None:
    """Writes values as `bits` gives them to a tensor, wherever it is."""
    source = torch.from_numpy(values.view(np.int16)) if tensor.dtype is torch.bfloat16 else torch.from_numpy(values)
    tensor.copy_(source.view(tensor.dtype) if tensor.dtype is torch.bfloat16 else source)


def share_numpy(tensor: Tensor) -> np.ndarray:
    """A NumPy view of a CPU tensor's memory."""
    return tensor.numpy()


class GraphPool:
    """Memory of captures on one GPU: what one of them computes on the way, another may overwrite."""

    def __init__(self):
        self._handle, self._graphs = None, weakref.WeakSet()

    def handle(self):
        """Torch's name for the memory, another one where no capture is left of those that took it."""
        if not self._graphs:
            self._handle = torch.cuda.graph_pool_handle()
        return self._handle

    def add(self, graph) -> None:
        """Notes a capture."""
        self._graphs.add(graph)

    def leave(self) -> None:
        """Has the next capture take other memory: torch refuses that of a capture which has failed."""
        self._graphs = weakref.WeakSet()


def capture(function, pool: GraphPool | None = None):
    """Captures what `function()` does on the current GPU, in memory of `pool`, or of its own.

    Gives a function that does it again, the first result, and the bytes by which the pool has grown. RuntimeError where
    `function` waits for the GPU, or does anything else that a CUDA graph cannot hold; other threads may.
    """
    pool = pool or GraphPool()
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    stream = _stream(torch.cuda.current_device())
    try:
        with torch.cuda.graph(graph, pool=pool.handle(), stream=stream, capture_error_mode="thread_local"):
            before = torch.cuda.memory_reserved()
            result = function()
    except RuntimeError:
        pool.leave()
        raise
    pool.add(graph)
    return graph.replay, result, torch.cuda.memory_reserved() - before


@functools.cache
def _stream(index: int) -> torch.cuda.Stream:
    """Where a GPU's graphs are captured: torch's own stream belongs to whichever GPU was the first to capture."""
    return torch.cuda.Stream(index)


def write(target: Tensor, values: Sequence) -> None:
    """Writes numbers to a tensor, in turn with what the GPU has been told to do but without waiting for it."""
    source = torch.tensor(values, dtype=target.dtype, pin_memory=target.is_cuda)
    target.copy_(source, non_blocking=True)


def on_device(ctx, function):
    """The function with the GPU of `ctx` as the current one; itself for other contexts."""
    if ctx.device_type != "gpu":
        return function
    where = device(ctx)

    def run(*args):
        if where.index == torch.cuda.current_device():
            return function(*args)
        with torch.cuda.device(where):
            return function(*args)

    return run


def copy_to(tensor: Tensor, dtype=None, ctx=None) -> Tensor:
    """A copy in the given type and place, always new memory."""
    wanted = tensor.dtype if dtype is None else torch_dtype(dtype)
    where = tensor.device if ctx is None else device(ctx)
    if ctx is not None and ctx.device_type == "cpu_pinned" and torch.cuda.is_available():
        return tensor.to(device="cpu", dtype=wanted).pin_memory()
    # From page-locked memory the copy runs beside the computation; torch keeps the source alive for it.
    beside = where.type == "cuda" and not tensor.is_cuda and tensor.is_pinned()
    return tensor.to(device=where, dtype=wanted, copy=True, non_blocking=beside)


def contiguous(tensor: Tensor) -> Tensor:
    """The tensor itself where its elements lie in row-major order, else a copy in that order."""
    return tensor.contiguous()


CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


def channels_last(tensor: Tensor) -> Tensor:
    """The tensor with the elements of one position side by side, as convolutions like it; the shape stays (N, C, ...)."""
    if tensor.dim() not in CHANNELS_LAST:
        return tensor
    return _with_channels_last(tensor.permute(0, *range(2, tensor.dim()), 1).reshape(-1), tensor.shape)


def _with_channels_last(flat: Tensor, shape: Sequence[int]) -> Tensor:
    """Flat memory as a channels-last tensor; its strides say so even where one channel leaves the order open."""
    batch, channels, *space = shape
    return flat.view(batch, *space, channels).permute(0, len(space) + 1, *range(1, len(space) + 1))


def flat_buffer(tensors: Sequence[Tensor], like: Sequence[Tensor] | None = None) -> tuple[Tensor, list[Tensor]]:
    """One flat buffer with room for all `tensors` (same dtype and device) and an unset view for each one in it.

    Only what lies between views is written: the system gives memory to the buffer as the views are filled.
    Channels-last tensors, and those whose partner of the same shape in `like` is, keep that order of their elements.
    Views start at multiples of 8 elements: 16 bytes even in half precision, so that vector loads stay aligned, and the
    same positions for tensors of the same shapes in another dtype, so that master copies lie as their weights do.
    """
    first = tensors[0]
    step = 8
    starts, total = [], 0
    for t in tensors:
        starts.append(total)
        total += -(-t.numel() // step) * step
    buffer = torch.empty(total, dtype=first.dtype, device=first.device)
    views = []
    for start, t in zip(starts, tensors, strict=True):
        if t.numel() % step:
            buffer[start + t.numel() : start + -(-t.numel() // step) * step].zero_()
    for start, t, model in zip(starts, tensors, like or tensors, strict=True):
        part = buffer[start : start + t.numel()]
        layout = CHANNELS_LAST.get(model.dim())
        if model.shape == t.shape and layout and model.stride(1) == 1 and model.is_contiguous(memory_format=layout):
            views.append(_with_channels_last(part, t.shape))
        else:
            views.append(part.view(t.shape))
    return buffer, views


def from_dlpack(capsule) -> Tensor:
    """A tensor over memory that another library offers by the DLPack protocol."""
    return torch.from_dlpack(capsule)


def to_dlpack(tensor: Tensor):
    """A DLPack capsule over the tensor's memory."""
    return torch.utils.dlpack.to_dlpack(tensor)


# Addresses of memory that was given away to be written to, for as long as the tensors that it was taken from live.
writable_elsewhere: set[int] = set()


def to_dlpack_for_write(tensor: Tensor):
    """A capsule through which others may write, at once or later: it counts as a change now, and see `safe_to_keep`."""
    capsule = torch.utils.dlpack.to_dlpack(tensor)
    address = tensor.untyped_storage().data_ptr()
    writable_elsewhere.add(address)
    weakref.finalize(tensor, writable_elsewhere.discard, address)
    count_change([tensor])
    return capsule


def safe_to_keep(tensor: Tensor) -> Tensor:
    """The tensor, or a copy of it where others may write to its memory without being noticed.

    To be called only while `writable_elsewhere` is not empty.
    """
    if tensor.is_mkldnn or tensor.untyped_storage().data_ptr() not in writable_elsewhere:
        return tensor
    return tensor.clone()


def flush_denormals(active: bool) -> None:
    """Whether the processor takes numbers that are too small for full precision as 0.

    Where it cannot, nothing changes.
    """
    torch.set_flush_denormal(active)


def set_threads(count: int) -> None:
    """Number of threads that a CPU kernel may use."""
    torch.set_num_threads(count)


def is_tensor(value) -> bool:
    """Whether a value is memory as this module hands it out."""
    return isinstance(value, Tensor)
