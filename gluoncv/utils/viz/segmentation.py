"""Maps of classes as pictures of a palette."""

from __future__ import annotations

import numpy as np

from core import nd
from gluon.block import HybridBlock
from gluoncv.utils.viz.image import as_numpy

__all__ = ["DeNormalize", "get_color_pallete"]


def get_color_pallete(npimg, dataset="pascal_voc"):
    """A Pillow picture of a map of classes (H, W) in the colours of "ade20k", "citys", "mhpv1", or else of PASCAL VOC.

    What does not count, -1, is shown in the colour 255, but in that of 0 with ADE20K's, which numbers classes from 1
    on.

    >>> from gluoncv.utils.viz import get_color_pallete
    >>> get_color_pallete(onp.array([[0, 1]]).astype("uint8")).convert("RGB").getpixel((1, 0))
    (128, 0, 0)
    """
    from PIL import Image

    classes = as_numpy(npimg).astype("int64")
    shown = Image.fromarray((classes + 1 if dataset == "ade20k" else classes).astype("uint8"))
    colors = _PALETTES.get(dataset)
    shown.putpalette(bytes.fromhex(colors) if colors else voc_palette().tobytes())
    return shown


class DeNormalize(HybridBlock):
    """Takes mean and deviation back from a normalised picture (3, H, W).

    >>> from gluoncv.utils.viz import DeNormalize
    >>> DeNormalize((0.5, 0.5, 0.5), (0.5, 0.25, 1))(nd.ones((3, 1, 1))).reshape(-1)
    [1.   0.75 1.5 ]
    <NDArray 3 @cpu(0)>
    """

    def __init__(self, mean, std):
        super().__init__()
        self.mean, self.std = (nd.array(v).reshape((-1, 1, 1)) for v in (mean, std))

    def forward(self, x):
        return nd.broadcast_add(nd.broadcast_mul(x, self.std), self.mean)


def voc_palette() -> np.ndarray:
    """The 256 colours of PASCAL VOC: bit 3k + c of a class is bit 7 - k of channel c."""
    classes = np.arange(256)
    palette = np.zeros((256, 3), dtype=int)
    for k in range(8):
        for channel in range(3):
            palette[:, channel] |= ((classes >> (3 * k + channel)) & 1) << (7 - k)
    return palette.astype("uint8")


# Red, green and blue of each class: those of the colour encoding of ADE20K (Zhou et al., 2017), of Cityscapes (Cordts
# et al., 2016) and of the demonstration of LV-MHP-v1
_PALETTES = {
    "ade20k": """
    000000 787878 b47878 06e6e6 503232 04c803 787850 8c8c8c cc05ff e6e6e6 04fa07 e005ff ebff07 96053d 787846
    08ff33 ff0652 8fff8c ccff04 ff3307 cc4603 0066c8 3de6fa ff0633 0b66ff ff0747 ff09e0 0907e6 dcdcdc ff095c
    7009ff 08ffd6 07ffe0 ffb806 0aff47 ff290a 07ffff e0ff08 6608ff ff3d06 ffc207 ff7a08 00ff14 ff0829 ff0599
    0633ff eb0cff a09614 00a3ff 8c8c8c fa0a0f 14ff00 1fff00 ff1f00 ffe000 99ff00 0000ff ff4700 00ebff 00adff
    1f00ff 0bc8c8 ff5200 00fff5 003dff 00ff70 00ff85 ff0000 ffa300 ff6600 c2ff00 008fff 33ff00 0052ff 00ff29
    00ffad 0a00ff adff00 00ff99 ff5c00 ff00ff ff00f5 ff0066 ffad00 ff0014 ffb8b8 001fff 00ff3d 0047ff ff00cc
    00ffc2 00ff52 000aff 0070ff 3300ff 00c2ff 007aff 00ffa3 ff9900 00ff0a ff7000 8fff00 5200ff a3ff00 ffeb00
    08b8aa 8500ff 00ff5c b800ff ff001f 00b8ff 00d6ff ff0070 5cff00 00e0ff 70e0ff 46b8a0 a300ff 9900ff 47ff00
    ff00a3 ffcc00 ff008f 00ffeb 85ff00 ff00eb f500ff ff007a fff500 0abed4 d6ff00 00ccff 1400ff ffff00 0099ff
    0029ff 00ffcc 2900ff 29ff00 ad00ff 00f5ff 4700ff 7a00ff 00ffb8 005cff b8ff00 0085ff ffd600 19c2c2 66ff00
    5c00ff
    """,
    "citys": """
    804080 f423e8 464646 66669c be9999 999999 faaa1e dcdc00 6b8e23 98fb98 0082b4 dc143c ff0000 00008e 000046
    003c64 005064 0000e6 770b20
    """,
    "mhpv1": """
    ffffff a52a2a ff0000 008000 a52a2a ff4500 ff1493 1e90ff 556b2f 008080 8b4513 4682b4 32cd32 0000cd 00bfff
    00ffff 00fa9a adff2f ffff00
    """,
}
