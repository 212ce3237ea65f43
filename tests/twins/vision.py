"""Networks of torchvision and timm that are the same as ours, with random weights.

`TWINS` has them by the name that they have here. `parts` are assembled from networks of those packages where they have
the parts and not the whole, under the names that the authors' programs give them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib.resources import files
from typing import NamedTuple

import timm
import torch
import torchvision
from timm.models import efficientnet
from timm.models import resnet as timm_resnet
from torch import nn
from torchvision.models._utils import IntermediateLayerGetter
from torchvision.models.detection import faster_rcnn, mask_rcnn, rpn
from torchvision.models.segmentation import deeplabv3, fcn


class Twin(NamedTuple):
    """make: the network there; names: whose; size: of the picture that both see; keywords: of our network;
    what: where it comes from; outputs: which of our outputs are compared, and which of theirs.
    """

    names: str
    make: Callable
    what: str
    size: int = 64
    keywords: dict = {}
    ours: Callable = lambda net, x: net(x)
    theirs: Callable = lambda net, x: net(x)


TWINS: dict[str, Twin] = {}


def _timm(name, twin, size=64, settings=None, **keywords):
    TWINS[name] = Twin("timm", lambda: timm.create_model(twin, **(settings or {})), f"timm {twin}", size, keywords)


def _torchvision(name, twin, size=64, settings=None, **keywords):
    def make():
        return getattr(torchvision.models, twin)(weights=None, **(settings or {}))

    TWINS[name] = Twin("torchvision", make, f"torchvision {twin}", size, keywords)


def _resnet(name, what, block=timm_resnet.Bottleneck, layers=(3, 4, 6, 3), **settings):
    TWINS[name] = Twin("timm", lambda: timm_resnet.ResNet(block, layers, **settings), f"timm ResNet, {what}", 64)


DEEP = {"stem_type": "deep"}
LAYERS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}
for depth in (18, 34, 50, 101, 152):
    _torchvision(f"resnet{depth}_v1b", f"resnet{depth}")
    _torchvision(f"resnet{depth}_v1", f"resnet{depth}")
    _timm(f"se_resnet{depth}_v1", f"legacy_seresnet{depth}")
for depth, layers in LAYERS.items():
    _timm(f"resnet{depth}_v1c", f"resnet{depth}c")
    _timm(f"resnet{depth}_v1d", f"resnet{depth}d")
    _timm(f"resnet{depth}_v1s", f"resnet{depth}s")
    _resnet(f"resnet{depth}_v1e", "deep stem of 64, averages", layers=layers, stem_width=64, avg_down=True, **DEEP)
_timm("resnet50_v1b_gn", "resnet50_gn")
_resnet("resnet101_v1b_gn", "group norm", layers=LAYERS[101], norm_layer=timm.layers.GroupNorm)
_timm("resnext50_32x4d", "resnext50_32x4d")
_timm("resnext101_32x4d", "resnext101_32x4d")
_timm("resnext101_64x4d", "resnext101_64x4d")
_timm("se_resnext50_32x4d", "seresnext50_32x4d", settings={"block_args": {"attn_layer": "se"}})
_timm("se_resnext101_32x4d", "seresnext101_32x4d")
_timm("se_resnext101_64x4d", "seresnext101_64x4d")
EXTENDED = {"layers": LAYERS[101], "cardinality": 64, "base_width": 4, "stem_width": 64, "avg_down": True, **DEEP}
_resnet("resnext101e_64x4d", "64x4d, deep stem of 64, averages", **EXTENDED)
_resnet("se_resnext101e_64x4d", "64x4d, deep stem of 64, averages, SE", **EXTENDED, block_args={"attn_layer": "se"})
_timm("senet_154", "senet154")
_resnet(
    "senet_154e", "SENet-154, averages", layers=LAYERS[152], cardinality=64, base_width=4, stem_width=64,
    avg_down=True, block_reduce_first=2, block_args={"attn_layer": "se"}, **DEEP,
)  # fmt: skip
for depth in (14, 26, 50):
    _timm(f"resnest{depth}", f"resnest{depth}d")
for depth in (101, 200, 269):
    _timm(f"resnest{depth}", f"resnest{depth}e")
for depth in (121, 161, 169, 201):
    _torchvision(f"densenet{depth}", f"densenet{depth}", 224)
for depth in (11, 13, 16, 19):
    _torchvision(f"vgg{depth}", f"vgg{depth}", 224)
    _torchvision(f"vgg{depth}_bn", f"vgg{depth}_bn", 224)
_torchvision("alexnet", "alexnet", 224)
_torchvision("squeezenet1.0", "squeezenet1_0", 224)
_torchvision("squeezenet1.1", "squeezenet1_1", 224)
_torchvision("googlenet", "googlenet", 224, {"aux_logits": False, "init_weights": False, "transform_input": False})
_torchvision("inceptionv3", "inception_v3", 299, {"init_weights": False, "transform_input": False})
_torchvision("shufflenet_v2", "shufflenet_v2_x1_0", 224)
for width in (1.0, 0.75, 0.5, 0.25):
    _torchvision(
        f"mobilenetv2_{width}", "mobilenet_v2", 64, {"width_mult": width, "round_nearest": 1}, output_bias=True
    )
for size, pooled in (("large", {}), ("small", {"pooled": 1024})):
    _torchvision(f"mobilenetv3_{size}", f"mobilenet_v3_{size}", 64, pooled_bias=True, **pooled)
_timm("dla34", "dla34")
_timm("darknet53", "darknet53", 224)
for ours, theirs in (
    ("w18_small_v1", "w18_small"), ("w18_small_v2", "w18_small_v2"), ("w18", "w18"), ("w30", "w30"), ("w32", "w32"),
    ("w40", "w40"), ("w44", "w44"), ("w48", "w48"), ("w64", "w64"),
):  # fmt: skip
    _timm(f"hrnet_{ours}_c", f"hrnet_{theirs}")


def _mobilenet(width):
    return efficientnet._gen_mobilenet_v1("mobilenetv1_100", channel_multiplier=width, fix_stem_head=False)


for width in (1.0, 0.75, 0.5, 0.25):
    TWINS[f"mobilenet{width}"] = Twin("timm", lambda width=width: _mobilenet(width), f"timm MobileNet V1, {width}")

# ---------------------------------------------------------------- assembled of the parts that the packages have


def _body(network, dilated=True):
    """A residual network of timm, dilated as for segmentation."""
    body = timm.create_model(network, **({"output_stride": 8} if dilated else {}))
    if dilated and network.startswith("resnest"):
        # Its authors' program averages in blocks that dilate, and not in their shortcuts; timm does the contrary.
        for stage in (body.layer3, body.layer4):
            stage[0].downsample[0] = nn.Identity()
            stage[0].avd_last = nn.AvgPool2d(3, 1, padding=1)
    return body


def _segmentation(name, network, classes, head):
    """torchvision's FCN or DeepLab on a residual network of timm, whose stem GluonCV's have."""

    def make():
        body = IntermediateLayerGetter(_body(network), {"layer4": "out", "layer3": "aux"})
        main = {"fcn": lambda: fcn.FCNHead(2048, classes), "deeplab": lambda: deeplabv3.DeepLabHead(2048, classes)}[
            head
        ]()
        return fcn.FCN(body, main, fcn.FCNHead(1024, classes))

    what = f"torchvision {head} on timm {network}"
    size = {"crop_size": 64}
    TWINS[name] = Twin("torchvision", make, what, 64, size, theirs=lambda net, x: list(net(x).values()))


CLASSES = {"ade": 150, "coco": 21, "voc": 21, "citys": 19}
for family, names in (
    ("fcn", "resnet101_ade resnet101_coco resnet101_voc resnet50_ade resnet50_voc"),
    ("deeplab", "resnet101_ade resnet101_citys resnet101_coco resnet101_voc resnet152_coco resnet152_voc resnet50_ade "
                "resnet50_citys resnest50_ade resnest101_ade resnest200_ade resnest269_ade"),
):  # fmt: skip
    for name in names.split():
        body, data = name.split("_")
        network = f"{body}s" if body.startswith("resnet") else f"{body}{'d' if body == 'resnest50' else 'e'}"
        _segmentation(f"{family}_{name}", network, CLASSES[data], family)


class PyramidPooling(nn.Module):
    """Pyramid scene parsing (Zhao et al., 2017) with the names of its authors' second program, hszhao/semseg."""

    def __init__(self, network, classes):
        super().__init__()
        body = _body(network)
        self.layer0 = nn.Sequential(*body.conv1, body.bn1, nn.ReLU(), body.maxpool)
        for i in range(1, 5):
            setattr(self, f"layer{i}", getattr(body, f"layer{i}"))
        for stage, dilation in ((self.layer3, 2), (self.layer4, 4)):
            stage[0].conv2.dilation = stage[0].conv2.padding = (dilation, dilation)
        self.ppm = nn.Module()
        self.ppm.features = nn.ModuleList(
            nn.Sequential(
                nn.AdaptiveAvgPool2d(size), nn.Conv2d(2048, 512, 1, bias=False), nn.BatchNorm2d(512), nn.ReLU()
            )
            for size in (1, 2, 3, 6)
        )
        self.cls, self.aux = (
            nn.Sequential(nn.Conv2d(before, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                          nn.Dropout2d(0.1), nn.Conv2d(width, classes, 1))
            for before, width in ((4096, 512), (1024, 256))
        )  # fmt: skip

    def forward(self, x):
        def resized(y, like):
            return nn.functional.interpolate(y, like.shape[2:], mode="bilinear", align_corners=True)

        before = self.layer3(self.layer2(self.layer1(self.layer0(x))))
        features = self.layer4(before)
        seen = torch.cat([features, *(resized(part(features), features) for part in self.ppm.features)], 1)
        return resized(self.cls(seen), x), resized(self.aux(before), x)


for name in "resnet101_ade resnet101_citys resnet101_coco resnet101_voc resnet50_ade".split():
    body, data = name.split("_")
    TWINS[f"psp_{name}"] = Twin(
        "authors", lambda body=body, data=data: PyramidPooling(f"{body}s", CLASSES[data]), "authors' names (semseg)", 64,
        {"crop_size": 64},
    )  # fmt: skip


class SimplePose(nn.Module):
    """A simple baseline for poses (Xiao et al., 2018) with its authors' names."""

    def __init__(self, network):
        super().__init__()
        body = _body(network, dilated=False)
        for name in ("conv1", "bn1", "layer1", "layer2", "layer3", "layer4"):
            setattr(self, name, getattr(body, name))
        layers, before = [], body.num_features
        for _ in range(3):
            layers += [nn.ConvTranspose2d(before, 256, 4, 2, 1, bias=False), nn.BatchNorm2d(256), nn.ReLU()]
            before = 256
        self.deconv_layers, self.final_layer = nn.Sequential(*layers), nn.Conv2d(256, 17, 1)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        return self.final_layer(self.deconv_layers(self.layer4(self.layer3(self.layer2(self.layer1(x))))))


for name in "18_v1b 50_v1b 50_v1d 101_v1b 101_v1d 152_v1b 152_v1d".split():
    depth, variant = name.split("_v1")
    network = f"resnet{depth}{'d' if variant == 'd' else ''}"
    TWINS[f"simple_pose_resnet{name}"] = Twin(
        "authors", lambda network=network: SimplePose(network), "authors' names (human-pose-estimation.pytorch)", 64
    )


PRUNED = json.loads(files("gluoncv.model_zoo").joinpath("pruned.json").read_text())


def _pruned(name):
    """A residual network of timm whose convolutions have the channels of a pruned one."""
    depth, variant = re.fullmatch(r"resnet(\d+)_v1(b|d)_.*", name).groups()
    net = timm.create_model(f"resnet{depth}{'d' if variant == 'd' else ''}")
    widths = PRUNED[name]

    def narrowed(parent, attribute, before, after):
        old = getattr(parent, attribute)
        if isinstance(old, nn.Conv2d):
            new = nn.Conv2d(before, after, old.kernel_size, old.stride, old.padding, old.dilation, bias=False)
        else:
            new = nn.BatchNorm2d(after)
        setattr(parent, attribute, new)

    stem, before = widths["stem"], 3
    for i, width in enumerate(stem):
        if len(stem) > 1:
            narrowed(net.conv1, str(3 * i), before, width)
            if i < 2:
                narrowed(net.conv1, str(3 * i + 1), before, width)
        else:
            narrowed(net, "conv1", before, width)
        before = width
    narrowed(net, "bn1", before, before)
    for i, stage in enumerate(widths["stages"], 1):
        for block, rows in zip(getattr(net, f"layer{i}"), stage, strict=True):
            first = before
            for k, width in enumerate(rows, 1):
                narrowed(block, f"conv{k}", before, width)
                narrowed(block, f"bn{k}", before, width)
                before = width
            if block.downsample is not None:
                at = len(block.downsample) - 2
                narrowed(block.downsample, str(at), first, before)
                narrowed(block.downsample, str(at + 1), first, before)
    net.fc = nn.Linear(before, 1000)
    return net


for name in PRUNED:
    TWINS[name] = Twin("timm", lambda name=name: _pruned(name), "timm resnet, pruned", 64)


class Deformable(nn.Module):
    """A modulated deformable convolution of torchvision, with the names of the authors' DCNv2."""

    def __init__(self, before, after):
        super().__init__()
        like = nn.Conv2d(before, after, 3)
        self.weight, self.bias = like.weight, like.bias
        self.conv_offset_mask = nn.Conv2d(before, 27, 3, padding=1)

    def forward(self, x):
        offsets, mask = self.conv_offset_mask(x).split([18, 9], 1)
        return torchvision.ops.deform_conv2d(x, offsets, self.weight, self.bias, padding=1, mask=torch.sigmoid(mask))


class Centers(nn.Module):
    """CenterNet (Zhou et al., 2019) on a residual network, with its authors' names."""

    def __init__(self, network, deformable, classes):
        super().__init__()
        body = getattr(torchvision.models, network)(weights=None)
        before = body.fc.in_features
        for name in ("conv1", "bn1", "layer1", "layer2", "layer3", "layer4"):
            setattr(self, name, getattr(body, name))
        layers = []
        for width in (256, 128, 64):
            layers += [Deformable(before, width) if deformable else nn.Conv2d(before, width, 3, padding=1)]
            layers += [nn.BatchNorm2d(width), nn.ReLU(), nn.ConvTranspose2d(width, width, 4, 2, 1, bias=False)]
            layers += [nn.BatchNorm2d(width), nn.ReLU()]
            before = width
        self.deconv_layers = nn.Sequential(*layers)
        for name, count in (("hm", classes), ("wh", 2), ("reg", 2)):
            setattr(self, name, nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, count, 1)))

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.deconv_layers(self.layer4(self.layer3(self.layer2(self.layer1(x)))))
        return self.hm(x), self.wh(x), self.reg(x)


def center_heads(net, x):
    """The heads before decoding."""
    features = net.base_network(x)
    return [head(features) for head in net.heads]


for depth in (18, 50, 101):
    for deformable in ("", "_dcnv2"):
        for data, classes in (("voc", 20), ("coco", 80)):
            TWINS[f"center_net_resnet{depth}_v1b{deformable}_{data}"] = Twin(
                "authors", lambda d=depth, f=bool(deformable), c=classes: Centers(f"resnet{d}", f, c),
                "authors' names (CenterNet)", 64, {}, center_heads,
            )  # fmt: skip


class Depth(nn.Module):
    """Disparities of one picture (Godard et al., 2019) with the names of its authors' program."""

    def __init__(self):
        super().__init__()
        self.encoder = torchvision.models.resnet18(weights=None)
        widths, skips, layers, before = (16, 32, 64, 128, 256), (0, 64, 64, 128, 256), [], 512
        for i in reversed(range(5)):
            layers += [_reflected(before, widths[i], True), _reflected(widths[i] + skips[i], widths[i], True)]
            before = widths[i]
        self.decoder = nn.ModuleList([*layers, *(_reflected(widths[i], 1, False) for i in range(4))])

    def forward(self, x):
        seen, found = _pyramid(self.encoder, x), []
        x = seen[-1]
        for k, i in enumerate(reversed(range(5))):
            x = nn.functional.interpolate(_elu(self.decoder[2 * k], x), scale_factor=2)
            x = _elu(self.decoder[2 * k + 1], torch.cat([x, seen[i - 1]], 1) if i else x)
            if i < 4:
                found.append(torch.sigmoid(self.decoder[10 + i].conv(x)))
        return found


class Motion(nn.Module):
    """The motion between two pictures (Godard et al., 2019) with the names of its authors' program."""

    def __init__(self):
        super().__init__()
        self.encoder = torchvision.models.resnet18(weights=None)
        self.encoder.conv1 = nn.Conv2d(6, 64, 7, 2, 3, bias=False)
        pairs = [nn.Conv2d(512, 256, 1), nn.Conv2d(256, 256, 3, padding=1), nn.Conv2d(256, 256, 3, padding=1)]
        self.net = nn.ModuleList([*pairs, nn.Conv2d(256, 12, 1)])

    def forward(self, x):
        x = _pyramid(self.encoder, x)[-1]
        for i, layer in enumerate(self.net):
            x = torch.relu(layer(x)) if i < 3 else layer(x)
        x = 0.01 * x.mean((2, 3)).reshape(-1, 2, 1, 6)
        return x[..., :3], x[..., 3:]


def _reflected(before, after, inner):
    conv = nn.Module()
    conv.conv = nn.Conv2d(before, after, 3, padding=1, padding_mode="reflect")
    if not inner:
        return conv
    block = nn.Module()
    block.conv = conv
    return block


def _elu(block, x):
    return nn.functional.elu(block.conv.conv(x))


def _pyramid(net, x):
    seen = [torch.relu(net.bn1(net.conv1((x - 0.45) / 0.225)))]
    x = net.maxpool(seen[0])
    for stage in (net.layer1, net.layer2, net.layer3, net.layer4):
        x = stage(x)
        seen.append(x)
    return seen


for training in ("mono", "mono_stereo", "stereo"):
    what = "authors' names (monodepth2)"
    TWINS[f"monodepth2_resnet18_kitti_{training}_640x192"] = Twin("authors", Depth, what, 64)
    if training != "stereo":
        TWINS[f"monodepth2_resnet18_posenet_kitti_{training}_640x192"] = Twin("authors", Motion, what, (1, 6, 64, 64))


class Convolutions(nn.Module):
    """C3D (Tran et al., 2015) with the names that its ports to PyTorch share."""

    def __init__(self, classes=400):
        super().__init__()
        before = 3
        for name, width in (
            ("1", 64),
            ("2", 128),
            ("3a", 256),
            ("3b", 256),
            ("4a", 512),
            ("4b", 512),
            ("5a", 512),
            ("5b", 512),
        ):
            setattr(self, f"conv{name}", nn.Conv3d(before, width, 3, padding=1))
            before = width
        self.fc6, self.fc7, self.fc8 = nn.Linear(8192, 4096), nn.Linear(4096, 4096), nn.Linear(4096, classes)

    def forward(self, x):
        for stage in (("1",), ("2",), ("3a", "3b"), ("4a", "4b"), ("5a", "5b")):
            for name in stage:
                x = torch.relu(getattr(self, f"conv{name}")(x))
            first, last = stage == ("1",), stage == ("5a", "5b")
            kernel = (1, 2, 2) if first else 2
            x = nn.functional.max_pool3d(x, kernel, kernel, (0, 1, 1) if last else 0)
        return self.fc8(torch.relu(self.fc7(torch.relu(self.fc6(x.flatten(1))))))


TWINS["c3d_kinetics400"] = Twin("authors", Convolutions, "authors' names (C3D)", (1, 3, 16, 112, 112))


class Regions(nn.Module):
    """Faster and Mask R-CNN on the fourth stage: torchvision's heads on a residual network of timm."""

    def __init__(self, network, classes, masks, anchors=15):
        super().__init__()
        body = _body(network, dilated=False)
        self.backbone = nn.Module()
        for name in ("conv1", "bn1", "layer1", "layer2", "layer3"):
            setattr(self.backbone, name, getattr(body, name))
        after = body.num_features
        self.rpn, self.roi_heads = nn.Module(), nn.Module()
        self.rpn.head = rpn.RPNHead(1024, anchors)
        if after == 512:
            self.rpn.head.conv[0][0] = nn.Conv2d(256, 1024, 3, padding=1)
        self.roi_heads.box_head = body.layer4
        self.roi_heads.box_predictor = faster_rcnn.FastRCNNPredictor(after, classes + 1)
        if masks:
            self.roi_heads.mask_predictor = mask_rcnn.MaskRCNNPredictor(after, 256, classes + 1)

    def settle(self):
        """The background has a box and a mask there, none here."""
        rows = [(self.roi_heads.box_predictor.bbox_pred, 4)]
        if hasattr(self.roi_heads, "mask_predictor"):
            rows.append((self.roi_heads.mask_predictor.mask_fcn_logits, 1))
        for layer, count in rows:
            layer.weight[:count], layer.bias[:count] = 0, 0

    def forward(self, x):
        b = self.backbone
        x = nn.functional.max_pool2d(torch.relu(b.bn1(b.conv1(x))), 3, 2, 1)
        x = b.layer3(b.layer2(b.layer1(x)))
        y = self.rpn.head.conv(x)
        features = self.roi_heads.box_head(x)
        scores, boxes = self.roi_heads.box_predictor(features.mean((2, 3)))
        found = [self.rpn.head.cls_logits(y), self.rpn.head.bbox_pred(y), scores, boxes[:, 4:]]
        if hasattr(self.roi_heads, "mask_predictor"):
            found.append(self.roi_heads.mask_predictor(features)[:, 1:])
        return found


def _regions(net, x):
    """The heads before boxes are decoded, on all of the picture as if it were one region."""
    features = net.features(x)
    y = net.rpn.conv1(features)
    top = net.top_features(features)
    mean = top.mean(axis=(2, 3))
    found = [net.rpn.score(y), net.rpn.loc(y), net.class_predictor(mean), net.box_predictor(mean)]
    return [*found, net.mask(top)[0]] if hasattr(net, "mask") else found


for name in (
    "faster_rcnn_resnet50_v1b_coco faster_rcnn_resnet50_v1b_voc faster_rcnn_resnet50_v1b_custom "
    "faster_rcnn_resnet101_v1d_coco faster_rcnn_resnet101_v1d_voc faster_rcnn_resnet101_v1d_custom "
    "mask_rcnn_resnet18_v1b_coco mask_rcnn_resnet50_v1b_coco mask_rcnn_resnet101_v1d_coco"
).split():
    depth, variant, data = re.fullmatch(r".*resnet(\d+)_v1(b|d)_(.*)", name).groups()
    classes, masks = {"coco": 80, "voc": 20, "custom": 3}[data], name.startswith("mask")
    TWINS[name] = Twin(
        "torchvision",
        lambda n=f"resnet{depth}{'d' if variant == 'd' else ''}", c=classes, m=masks: Regions(n, c, m, 9 if c == 3 else 15),
        "torchvision's heads on timm's body", 64, {"classes": ["a", "b", "c"]} if data == "custom" else {}, _regions,
    )  # fmt: skip


def _single_shots(size, classes):
    body = torchvision.models.detection.ssd._vgg_extractor(torchvision.models.vgg16(weights=None), size == "512", 5)
    anchors = [4, 6, 6, 6, 6, 4, 4] if size == "512" else [4, 6, 6, 6, 4, 4]
    channels = torchvision.models.detection._utils.retrieve_out_channels(body, (64, 64) if size == "64" else (512, 512))
    net = nn.Module()
    net.backbone = body
    net.head = torchvision.models.detection.ssd.SSDHead(channels, anchors, classes + 1)
    return net


def _theirs_single_shots(net, x):
    # Both networks multiply pictures by 255; ours takes them with ImageNet's deviation.
    features = net.backbone(x * 255 * torch.tensor([0.229, 0.224, 0.225]).reshape(1, 3, 1, 1)).values()
    heads = (net.head.classification_head.module_list, net.head.regression_head.module_list)
    return [layer(f) for layers in heads for layer, f in zip(layers, features, strict=True)]


def _ours_single_shots(net, x):
    features = net.features(x)
    return [
        layer(f)
        for layers in (net.class_predictors, net.box_predictors)
        for layer, f in zip(layers, features, strict=True)
    ]


for size in ("300",):  # The last maps of SSD 512 are padded otherwise there.
    for data, classes in (("coco", 80), ("voc", 20), ("custom", 3)):
        TWINS[f"ssd_{size}_vgg16_atrous_{data}"] = Twin(
            "torchvision", lambda s=size, c=classes: _single_shots(s, c), "torchvision SSD, VGG-16", int(size),
            {"classes": ["a", "b", "c"]} if data == "custom" else {}, _ours_single_shots, _theirs_single_shots,
        )  # fmt: skip


class Branches(nn.Module):
    """A high-resolution network for segmentation (Wang et al., 2021) with its authors' names, from one of timm."""

    def __init__(self, network, classes=19):
        super().__init__()
        body = timm.create_model(network)
        for name, child in body.named_children():
            if re.match(r"conv|bn|layer1|transition|stage", name):
                setattr(self, name, child)
        for module in self.modules():
            if isinstance(module, nn.Upsample):
                module.mode, module.align_corners = "bilinear", False
        width = sum(body.stage4_cfg["num_channels"])
        self.last_layer = nn.Sequential(
            nn.Conv2d(width, width, 1), nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, classes, 1)
        )

    def forward(self, x):
        x = torch.relu(self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x))))))
        images = [self.layer1(x)]
        for i in (1, 2, 3):
            layers = getattr(self, f"transition{i}")
            images = [layer(images[min(k, len(images) - 1)]) for k, layer in enumerate(layers)]
            images = getattr(self, f"stage{i + 1}")(images)
        size = images[0].shape[2:]
        parts = [nn.functional.interpolate(x, size, mode="bilinear", align_corners=False) for x in images[1:]]
        return self.last_layer(torch.cat([images[0], *parts], 1))


for ours, theirs in (("w18_small_v1", "w18_small"), ("w18_small_v2", "w18_small_v2"), ("w48", "w48")):
    TWINS[f"hrnet_{ours}_s"] = Twin(
        "authors", lambda theirs=theirs: Branches(f"hrnet_{theirs}"), "authors' names (HRNet-Semantic-Segmentation)", 64
    )


class DualAttention(nn.Module):
    """Dual attention (Fu et al., 2019) with its authors' names."""

    def __init__(self, network, classes=19):
        super().__init__()
        self.pretrained, self.head = _body(network), nn.Module()

        def block(before):
            return nn.Sequential(nn.Conv2d(before, 512, 3, padding=1, bias=False), nn.BatchNorm2d(512), nn.ReLU())

        head = self.head
        head.conv5a, head.conv5c, head.conv51, head.conv52 = block(2048), block(2048), block(512), block(512)
        head.sa, head.sc = nn.Module(), nn.Module()
        head.sa.query_conv, head.sa.key_conv = nn.Conv2d(512, 64, 1), nn.Conv2d(512, 64, 1)
        head.sa.value_conv = nn.Conv2d(512, 512, 1)
        head.sa.gamma, head.sc.gamma = nn.Parameter(torch.zeros(1)), nn.Parameter(torch.zeros(1))
        for name in ("conv6", "conv7", "conv8"):
            setattr(head, name, nn.Sequential(nn.Dropout2d(0.1), nn.Conv2d(512, classes, 1)))
        self.pretrained.fc = nn.Identity()

    def forward(self, x):
        size, head = x.shape[2:], self.head
        x = self.pretrained.forward_features(x)
        a, c = head.conv5a(x), head.conv5c(x)
        query, key, value = (conv(a).flatten(2) for conv in (head.sa.query_conv, head.sa.key_conv, head.sa.value_conv))
        attention = torch.softmax(query.transpose(1, 2) @ key, -1)
        places = head.conv51(head.sa.gamma * (value @ attention.transpose(1, 2)).reshape(a.shape) + a)
        flat = c.flatten(2)
        energy = flat @ flat.transpose(1, 2)
        attention = torch.softmax(energy.max(-1, keepdim=True)[0] - energy, -1)
        channels = head.conv52(head.sc.gamma * (attention @ flat).reshape(c.shape) + c)
        scores = head.conv8(places + channels), head.conv6(places), head.conv7(channels)
        return [nn.functional.interpolate(s, size, mode="bilinear", align_corners=True) for s in scores]


for depth in (50, 101):
    TWINS[f"danet_resnet{depth}_citys"] = Twin(
        "authors", lambda depth=depth: DualAttention(f"resnet{depth}s"), "authors' names (DANet)", 64, {"crop_size": 64}
    )
