"""Blocks: pieces of networks, those that can be compiled, and those made from symbols."""

from gluon.block.block import Block
from gluon.block.hooks import HookHandle
from gluon.block.hybrid_block import HybridBlock
from gluon.block.scope import BlockScope as _BlockScope
from gluon.block.structure import _flatten, _regroup
from gluon.block.symbol_block import SymbolBlock

__all__ = ["Block", "HookHandle", "HybridBlock", "SymbolBlock"]
