"""Gradient norms, parallel workers, files and seeds."""

from . import files, parallel, parameter, seed, version
from .files import *
from .parallel import *
from .parameter import *
from .seed import *
from .version import *

__all__ = parallel.__all__ + parameter.__all__ + files.__all__ + version.__all__ + seed.__all__
