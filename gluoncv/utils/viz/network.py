"""Networks as pictures of their layers."""

import os
import tempfile

from core import sym, visualization
from gluon.block import HybridBlock


def plot_network(block, shape=(1, 3, 224, 224), save_prefix=None):
    """Shows the layers of a network for an input of `shape`, by graphviz, and writes `<save_prefix>.pdf` if given.

    ValueError for blocks that cannot be compiled.
    """
    if not isinstance(block, HybridBlock):
        raise ValueError(f"the network is a HybridBlock, given {type(block).__name__}")
    graph = _graph(block, shape)
    graph.view(os.path.join(tempfile.mkdtemp(), "network.gv"))
    if save_prefix is not None:
        graph.render(save_prefix)


def _graph(block, shape):
    outputs = block(sym.var("data"))
    outputs = sym.Group(list(outputs)) if isinstance(outputs, tuple | list) else outputs
    return visualization.plot_network(
        outputs, shape={"data": shape}, node_attrs={"shape": "rect", "fixedsize": "false"}
    )
