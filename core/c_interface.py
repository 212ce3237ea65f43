"""Functions of MXNet's shared library that tools in Python call: `check_call(_LIB.MXSetNumOMPThreads(2))`.

As there, each returns 0, and writes its result through the reference that it is given last.
"""

from __future__ import annotations

import ctypes

from core import storage
from core.base import MXNetError, NDArrayHandle
from core.ndarray import NDArray
from core.ndarray.functions import from_dlpack

_UNUSED, _USED = b"dltensor", b"used_dltensor"
_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _ManagedTensor(ctypes.Structure):
    """DLManagedTensor of dlpack.h (version 0): what lies where, and the function that gives it back."""

    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int), ("device_id", ctypes.c_int), ("ndim", ctypes.c_int),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64), ("manager_ctx", ctypes.c_void_p),
        ("deleter", _DELETER),
    ]  # fmt: skip


def MXSetNumOMPThreads(thread_num) -> int:
    """How many threads a CPU kernel may use."""
    storage.set_threads(_number(thread_num))
    return 0


def MXRecordIOReaderTell(handle, pos) -> int:
    """Where the next record of an `MXRecordIO` begins, in bytes."""
    pos._obj.value = handle._position
    return 0


MXRecordIOWriterTell = MXRecordIOReaderTell


def MXRecordIOReaderSeek(handle, pos) -> int:
    """Makes the record at a byte of an `MXRecordIO` the next one to be read."""
    handle._position = _number(pos)
    return 0


def MXNDArrayToDLPack(handle, out_dlpack) -> int:
    """The address of a DLManagedTensor over the array's memory, which whoever asks for it is to give back."""
    capsule = _array(handle).to_dlpack_for_write()
    api = ctypes.pythonapi
    out_dlpack._obj.value = _pointer(capsule)
    api.PyCapsule_SetName(ctypes.py_object(capsule), _USED)  # so that it does not give the memory back itself
    return 0


def MXNDArrayFromDLPack(dlpack, out_handle) -> int:
    """An array over the memory of a DLManagedTensor, which is given back with it."""
    return MXNDArrayFromDLPackEx(dlpack, False, out_handle)


def MXNDArrayFromDLPackEx(dlpack, transient_handle, out_handle) -> int:
    """`MXNDArrayFromDLPack`; transient_handle: whether the structure may be gone after the call, so that it is copied."""
    address = ctypes.cast(dlpack, ctypes.c_void_p).value
    if not address:
        raise MXNetError("a DLManagedTensor is given by its address, which is null")
    if transient_handle:
        copy = _ManagedTensor.from_buffer_copy(_ManagedTensor.from_address(address))
        address = ctypes.addressof(copy)
        _copies[address] = (copy, _DELETER(copy.deleter and ctypes.cast(copy.deleter, ctypes.c_void_p).value))
        copy.deleter = _give_back
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    out_handle._obj.hold(from_dlpack(new(address, _UNUSED, None)))
    return 0


_copies: dict[int, tuple[_ManagedTensor, object]] = {}  # by address: structures that arrays hold, and their deleters


@_DELETER
def _give_back(address: int) -> None:
    copy, deleter = _copies.pop(address)
    if deleter:
        deleter(ctypes.addressof(copy))


def MXNDArrayCallDLPackDeleter(dlpack) -> int:
    """Gives the memory of a DLManagedTensor back that nobody has made an array of."""
    tensor = _ManagedTensor.from_address(ctypes.cast(dlpack, ctypes.c_void_p).value)
    if tensor.deleter:
        tensor.deleter(ctypes.addressof(tensor))
    return 0


def _number(value) -> int:
    return int(getattr(value, "value", value))


def _array(handle: NDArrayHandle) -> NDArray:
    if getattr(handle, "array", None) is None:
        raise MXNetError("the handle is that of no array")
    return handle.array


def _pointer(capsule) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return get(capsule, _UNUSED)
