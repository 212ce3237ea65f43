"""Networks as files, with the preparation of their input inside."""

from __future__ import annotations

from core import cpu, nd
from core.base import MXNetError
from gluon.block import HybridBlock
from gluon.nn import HybridSequential

__all__ = ["export_block", "export_tvm"]

LAYOUTS = ("HWC", "CHW", "THWC", "CTHW")


class _Preprocess(HybridBlock):
    """From pictures (N, H, W, 3) of 0 to 255 to normalised (N, 3, H, W)."""

    def __init__(self, mean=(123.675, 116.28, 103.53), scale=(58.395, 57.12, 57.375)):
        super().__init__()
        with self.name_scope():
            self.init_mean = self.params.get_constant("init_mean", nd.array(mean).reshape((1, 3, 1, 1)))
            self.init_scale = self.params.get_constant("init_scale", nd.array(scale).reshape((1, 3, 1, 1)))

    def hybrid_forward(self, F, x, init_mean, init_scale):
        x = F.transpose(x, axes=(0, 3, 1, 2))
        return F.broadcast_div(F.broadcast_minus(x, init_mean), init_scale)


def export_block(path, block, data_shape=None, epoch=0, preprocess=True, layout="HWC", ctx=None):
    """Writes `<path>-symbol.json` and `<path>-<epoch>.params` of a network for inference elsewhere.

    data_shape: that of the input without the batch, in `layout` ("HWC" or "CHW", with T before them, or after C, for
    videos); by default sizes of pictures that are usual are tried. preprocess: True for pictures of bytes in RGB that
    are normalised by ImageNet's statistics, only with "HWC"; or a block; or None, for "CHW" and "CTHW".
    ValueError for other layouts, and where no size fits; TypeError for another `preprocess`.

    >>> import os, tempfile
    >>> net, folder = nn.HybridSequential(), tempfile.mkdtemp()
    >>> net.add(nn.Conv2D(2, 1), nn.Flatten())
    >>> net.initialize()
    >>> _ = gluoncv.utils.export_block(os.path.join(folder, "net"), net, data_shape=(4, 4, 3))
    >>> sorted(os.listdir(folder))
    ['net-0000.params', 'net-symbol.json']
    """
    ctx, layout = ctx or cpu(), layout.upper()
    if layout not in LAYOUTS or (data_shape is None and "T" in layout):
        raise ValueError(f"layout is one of {', '.join(LAYOUTS)}, those of videos with data_shape; given {layout!r}")
    if preprocess:
        if preprocess is True and layout != "HWC":
            raise ValueError(f"preprocess=True takes pictures of the layout HWC, given {layout}")
        preparation = _Preprocess() if preprocess is True else preprocess
        if not isinstance(preparation, HybridBlock):
            raise TypeError(f"preprocess is True, None or a HybridBlock, given {type(preprocess).__name__}")
        preparation.initialize(ctx=ctx)
        wrapped = HybridSequential(prefix=block.prefix)
        wrapped.add(preparation, block)
    elif not layout.startswith("C"):
        raise ValueError(f"without preprocess the layout is CHW or CTHW, given {layout}")
    else:
        wrapped = block
    wrapped.hybridize()
    shapes = (
        [data_shape]
        if data_shape is not None
        else [(side, side, 3) for side in (224, 256, 299, 300, 320, 416, 512, 600)]
    )
    if data_shape is None and layout == "CHW":
        shapes = [(3, h, w) for h, w, _ in shapes]
    error = None
    for shape in shapes:
        try:
            wrapped(nd.zeros((1, *shape), ctx=ctx))
        except (ValueError, RuntimeError) as wrong:
            error = wrong
            continue
        return wrapped.export(path, epoch)
    raise ValueError(f"none of the shapes {shapes} fits the network; give data_shape") from error


def export_tvm(*args, **kwargs):
    """A name that programs import.

    A call is a MXNetError, for TVM reads no networks of MXNet any more, but ONNX files.
    """
    raise MXNetError(
        "networks are not compiled by TVM here: write an ONNX file with mx.onnx.export_model, which TVM and others read"
    )
