"""Gradient norms, parallel workers, files and seeds."""

from . import files, parallel, parameter, seed, version
from .files import glob, mkdir, remove
from .parallel import Parallel, Parallelizable
from .parameter import (
    clip_grad_global_norm,
    grad_global_norm,
    load_parameters,
    load_states,
    save_parameters,
    save_states,
)
from .seed import set_seed
from .version import check_version

__all__ = parallel.__all__ + parameter.__all__ + files.__all__ + version.__all__ + seed.__all__
