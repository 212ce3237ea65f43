"""Forward and backward passes in threads, one for each device."""

from gluon.parallel import Parallel, Parallelizable

__all__ = ["Parallelizable", "Parallel"]
