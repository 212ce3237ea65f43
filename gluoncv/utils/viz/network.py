"""Networks as pictures of their layers."""

import os
import tempfile

from core import install_as_mxnet, sym, visualization
from core.base import MXNetError
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


def plot_mxboard(block, logdir="./logs"):
    """Writes the layers of a network for TensorBoard to the folder `logdir`; MXNetError without the package mxboard."""
    install_as_mxnet()  # which mxboard imports
    try:
        from mxboard import SummaryWriter
    except ImportError as error:
        raise MXNetError("TensorBoard's files are written by mxboard: pip install mxboard") from error
    with SummaryWriter(logdir=logdir) as writer:
        writer.add_graph(_symbol(block))
    print(f"written; show it with: tensorboard --logdir={logdir} --host=127.0.0.1 --port=8888")


def _symbol(block):
    outputs = block(sym.var("data"))
    return sym.Group(list(outputs)) if isinstance(outputs, tuple | list) else outputs


def _graph(block, shape):
    return visualization.plot_network(
        _symbol(block), shape={"data": shape}, node_attrs={"shape": "rect", "fixedsize": "false"}
    )
