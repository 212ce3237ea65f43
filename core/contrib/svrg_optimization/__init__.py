"""Stochastic gradients of less variance (Johnson and Zhang, 2013): `SVRGModule`."""

from core.contrib.svrg_optimization import svrg_module, svrg_optimizer
from core.contrib.svrg_optimization.svrg_module import SVRGModule

__all__ = ["SVRGModule", "svrg_module", "svrg_optimizer"]
