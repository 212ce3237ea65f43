"""Devices as MXNet 2 calls contexts."""

from core.context import Device, cpu, cpu_pinned, gpu, gpu_memory_info, num_gpus
from core.context import current_context as current_device

__all__ = ["Device", "cpu", "cpu_pinned", "current_device", "gpu", "gpu_memory_info", "num_gpus"]
