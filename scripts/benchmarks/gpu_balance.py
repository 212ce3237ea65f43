"""Products whose tiles are shared out among all processors of a GPU, whether that pays or not: for checks of that way.

The rule that chooses it takes it for some shapes alone, and the tuner need not. Here each configuration that can share
tiles out does, with few tiles (each begun by many programs), with one more than there are processors, with more than two
rounds of them, and with a batch; no extent is a multiple of a block, and bias, residual and activation end a tile.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from unittest import mock

import torch

from core.kernels.triton import _balance, matmul
from core.kernels.triton.autotune import Config
from core.kernels.triton.targets import target_of

WAYS = {
    "descriptors": (matmul._launch_tma, matmul.TMA_CONFIGS),
    "pointers": (matmul._launch_pointers, matmul.POINTER_CONFIGS),
}
STEPS = 13  # blocks of K


@dataclass(frozen=True)
class Product:
    """a (B, M, K) times b (B, K, N), of which those that are turned lie in memory the other way round."""

    launch: Callable
    config: Config
    extents: tuple[int, int, int, int]  # B, M, N, K
    turned: tuple[bool, bool]
    dtype: torch.dtype
    device: torch.device

    def __str__(self) -> str:
        return f"B, M, N, K {self.extents}, turned {self.turned}, {self.config}"

    def operands(self) -> tuple:
        """a, b, bias and residual, the same at each call; batches have no residual."""
        batch, m, n, k = self.extents
        source = torch.Generator().manual_seed(7)

        def draw(*shape: int) -> torch.Tensor:
            return torch.randn(shape, generator=source).to(self.device, self.dtype)

        a = draw(batch, k, m).mT if self.turned[0] else draw(batch, m, k)
        b = draw(batch, n, k).mT if self.turned[1] else draw(batch, k, n)
        return a, b, draw(n), draw(m, n) if batch == 1 else None

    def truth(self) -> torch.Tensor:
        """On the CPU, in float64."""
        a, b, bias, residual = (None if t is None else t.cpu().double() for t in self.operands())
        sums = a @ b + bias
        return (sums if residual is None else sums + residual).relu()


def missing(way: str, device: str) -> str | None:
    """Why a way cannot be taken on a device."""
    target = target_of(torch.device(device))
    return f"{target} has no descriptors" if way == "descriptors" and not target.tma else None


def products(dtype: str, way: str, device: str) -> Iterator[Product]:
    kind, on = getattr(torch, dtype), torch.device(device)
    launch, configs = WAYS[way]
    processors = target_of(on).processors
    counts = ((1, 3), (1, processors + 1), (1, 2 * processors + 3), (3, processors // 2 + 1))
    shared = [config for config in configs[kind.itemsize] if config.constexprs.get("BALANCED")]
    for config, (batch, tiles), turned in itertools.product(shared, counts, ((False, True), (True, False))):
        m, n, k = config["BLOCK_M"] * tiles - 48, config["BLOCK_N"] - 32, config["BLOCK_K"] * STEPS - 16
        yield Product(launch, config, (batch, m, n, k), turned, kind, on)


def run(product: Product) -> torch.Tensor:
    """The result, on the CPU."""
    batch, m, n, _ = product.extents
    a, b, *ends = product.operands()
    out = torch.empty((batch, m, n), dtype=product.dtype, device=product.device)
    with mock.patch.object(matmul, "shares_of", _balance.even_shares):
        product.launch(product.config, a, b, out, *ends, "relu")
    return out.cpu()


def error(found: torch.Tensor, truth: torch.Tensor) -> float:
    """Of all elements, as a share of the truth; NaN where something was not computed."""
    return float(torch.linalg.vector_norm(found.double() - truth) / torch.linalg.vector_norm(truth))
