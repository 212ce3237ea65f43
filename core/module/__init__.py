"""Modules: a symbol, its parameters and an optimizer behind one interface, with a training loop (`fit`)."""

from core.module.base_module import BaseModule
from core.module.bucketing_module import BucketingModule
from core.module.executor_group import DataParallelExecutorGroup
from core.module.module import Module
from core.module.python_module import PythonLossModule, PythonModule
from core.module.sequential_module import SequentialModule

__all__ = [
    "BaseModule", "BucketingModule", "DataParallelExecutorGroup", "Module", "PythonLossModule", "PythonModule",
    "SequentialModule",
]  # fmt: skip
