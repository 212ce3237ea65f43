"""Networks whose authors published PyTorch files for programs that are no packages, built here under their names."""

from __future__ import annotations

import timm
import torch
import torchvision
from torch import nn
from torch.nn import functional

from core import nd
from tests.twins.vision import TWINS, Deformable, Twin, center_heads


def _convolved(before, after, kernel=3, **settings):
    return nn.Sequential(nn.Conv2d(before, after, kernel, bias=False, **settings), nn.BatchNorm2d(after), nn.ReLU())


class Weighed(nn.Module):
    """A block of a residual network of torchvision whose channels are weighed before the shortcut comes."""

    def __init__(self, block):
        super().__init__()
        for name in ("conv1", "bn1", "conv2", "bn2", "conv3", "bn3", "downsample"):
            setattr(self, name, getattr(block, name))
        width = block.bn3.num_features
        self.se = nn.Module()
        self.se.fc = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.Sigmoid())

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = self.bn3(self.conv3(torch.relu(self.bn2(self.conv2(y)))))
        return torch.relu(y * self.se.fc(y.mean((2, 3)))[..., None, None] + self.downsample(x))


class FastPose(nn.Module):
    """AlphaPose (Fang et al., 2017)."""

    def __init__(self):
        super().__init__()
        self.preact = torchvision.models.resnet101(weights=None)
        for name in ("layer1", "layer2", "layer3", "layer4"):
            stage = getattr(self.preact, name)
            stage[0] = Weighed(stage[0])
        self.preact.fc = self.preact.avgpool = nn.Identity()
        for name, before, after in (("duc1", 512, 1024), ("duc2", 256, 512)):
            part = nn.Module()
            part.conv, part.bn = nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after)
            setattr(self, name, part)
        self.conv_out = nn.Conv2d(128, 17, 3, padding=1)

    def forward(self, x):
        p = self.preact
        x = p.layer4(p.layer3(p.layer2(p.layer1(p.maxpool(torch.relu(p.bn1(p.conv1(x))))))))
        x = functional.pixel_shuffle(x, 2)
        for part in (self.duc1, self.duc2):
            x = functional.pixel_shuffle(torch.relu(part.bn(part.conv(x))), 2)
        return self.conv_out(x)


TWINS["alpha_pose_resnet101_v1b_coco"] = Twin("authors", FastPose, "authors' names (AlphaPose)", 64)


class Correlation(nn.Module):
    """Scores of places of a picture, compared with a template channel by channel."""

    def __init__(self, outputs):
        super().__init__()
        self.conv_kernel, self.conv_search = _convolved(256, 256), _convolved(256, 256)
        self.head = nn.Sequential(*_convolved(256, 256, 1), nn.Conv2d(256, outputs, 1))

    def forward(self, template, picture):
        kernel, picture = self.conv_kernel(template), self.conv_search(picture)
        return self.head(functional.conv2d(picture, kernel.transpose(0, 1), groups=kernel.shape[1]))


class Tracker(nn.Module):
    """SiamRPN (Li et al., 2018), on AlexNet, with the names of its authors' program, pysot."""

    def __init__(self):
        super().__init__()
        layers, before = [], 3
        for width, kernel, stride in ((96, 11, 2), (256, 5, 1), (384, 3, 1), (384, 3, 1), (256, 3, 1)):
            layers += [nn.Conv2d(before, width, kernel, stride), nn.BatchNorm2d(width)]
            layers += [nn.MaxPool2d(3, 2)] * (kernel > 3) + [nn.ReLU()]
            before = width
        self.backbone, self.rpn_head = nn.Module(), nn.Module()
        self.backbone.features = nn.Sequential(*layers[:-1])
        self.rpn_head.cls, self.rpn_head.loc = Correlation(10), Correlation(20)

    def forward(self, template, picture):
        seen = self.backbone.features(template), self.backbone.features(picture)
        return self.rpn_head.cls(*seen), self.rpn_head.loc(*seen)


def _template(x):
    return x[:, :, :127, :127]


TWINS["siamrpn_alexnet_v2_otb15"] = Twin(
    "authors", Tracker, "authors' names (pysot)", (1, 3, 159, 159),
    ours=lambda net, x: net(nd.array(_template(x.asnumpy())), x), theirs=lambda net, x: net(_template(x), x),
)  # fmt: skip


class Joined(nn.Module):
    """Enlarges each map to the size of the first one and joins it with the map before."""

    def __init__(self, width, channels, factors):
        super().__init__()
        for i, (before, factor) in enumerate(zip(channels[1:], factors[1:], strict=True), 1):
            setattr(self, f"proj_{i}", self._layer(before, width))
            setattr(self, f"node_{i}", self._layer(width, width))
            up = nn.ConvTranspose2d(width, width, 2 * factor, factor, factor // 2, groups=width, bias=False)
            setattr(self, f"up_{i}", up)

    @staticmethod
    def _layer(before, after):
        layer = nn.Module()
        layer.conv, layer.actf = Deformable(before, after), nn.Sequential(nn.BatchNorm2d(after), nn.ReLU())
        return layer

    def forward(self, maps):
        found = list(maps[:1])
        for i, x in enumerate(maps[1:], 1):
            project, node = getattr(self, f"proj_{i}"), getattr(self, f"node_{i}")
            x = getattr(self, f"up_{i}")(project.actf(project.conv(x)))
            found.append(node.actf(node.conv(x + found[-1])))
        return found


class AggregatedCenters(nn.Module):
    """CenterNet (Zhou et al., 2019) on deep layer aggregation."""

    def __init__(self, classes):
        super().__init__()
        self.base = timm.create_model("dla34", num_classes=0)
        channels, factors = [64, 128, 256, 512], [1, 2, 4, 8]
        self.dla_up = nn.Module()
        before = list(channels)
        for i in range(3):
            k = 2 - i
            width = channels[k]
            setattr(
                self.dla_up, f"ida_{i}", Joined(width, before[k:], [factor // factors[k] for factor in factors[k:]])
            )
            before[k + 1 :], factors[k + 1 :] = [width] * (3 - k), [factors[k]] * (3 - k)
        self.ida_up = Joined(64, channels[:3], [1, 2, 4])
        for name, count in (("hm", classes), ("wh", 2), ("reg", 2)):
            setattr(self, name, nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, count, 1)))

    def forward(self, x):
        x, maps = self.base.base_layer(x), []
        for i in range(6):
            x = getattr(self.base, f"level{i}")(x)
            maps.append(x)
        maps, results = maps[2:], [x]
        for i in range(3):
            k = 2 - i
            maps = [*maps[:k], *getattr(self.dla_up, f"ida_{i}")(maps[k:])]
            results.insert(0, maps[-1])
        last = self.ida_up(results[:3])[-1]
        return self.hm(last), self.wh(last), self.reg(last)


for data, classes in (("voc", 20), ("coco", 80)):
    TWINS[f"center_net_dla34_dcnv2_{data}"] = Twin(
        "authors", lambda c=classes: AggregatedCenters(c), "authors' names (CenterNet)", 64, {}, center_heads
    )


class WideBlock(nn.Module):
    """Convolutions behind their activations, with a shortcut that starts after the first of these if it convolves."""

    def __init__(self, before, widths, stride, dilation):
        super().__init__()
        wide = len(widths) == 2
        self.bn1 = nn.Sequential(nn.BatchNorm2d(before), nn.ReLU())
        self.convs, last = nn.Sequential(), before
        for i, width in enumerate(widths, 1):
            kernel = 3 if wide or i == 2 else 1
            if i > 1:
                self.convs.add_module(f"bn{i}", nn.Sequential(nn.BatchNorm2d(last), nn.ReLU()))
            spread = {"dilation": dilation, "padding": dilation} if kernel == 3 else {}
            step = stride if i == 1 else 1
            self.convs.add_module(f"conv{i}", nn.Conv2d(last, width, kernel, step, bias=False, **spread))
            last = width
        self.proj_conv = None
        if stride > 1 or before != last:
            self.proj_conv = nn.Conv2d(before, last, 1, stride, bias=False)

    def forward(self, x):
        active = self.bn1(x)
        return self.convs(active) + (x if self.proj_conv is None else self.proj_conv(active))


class WideSegmentation(nn.Module):
    """DeepLab V3+ on a wide residual network (Zhu et al., 2019) with the names of its authors' program."""

    def __init__(self, classes=19):
        super().__init__()
        self.mod1, before = nn.Sequential(), 64
        self.mod1.add_module("conv1", nn.Conv2d(3, 64, 3, padding=1, bias=False))
        for i, (count, widths, stride, dilation) in enumerate(
            (
                (3, (128, 128), 1, 1), (3, (256, 256), 1, 1), (6, (512, 512), 2, 1), (3, (512, 1024), 1, 2),
                (1, (512, 1024, 2048), 1, 4), (1, (1024, 2048, 4096), 1, 4),
            ), 2,
        ):  # fmt: skip
            stage = nn.Sequential()
            for k in range(count):
                stage.add_module(f"block{k + 1}", WideBlock(before, widths, stride if k == 0 else 1, dilation))
                before = widths[-1]
            setattr(self, f"mod{i}", stage)
        self.aspp = nn.Module()
        rates = (12, 24, 36)
        self.aspp.features = nn.ModuleList(
            [_convolved(before, 256, 1), *(_convolved(before, 256, dilation=r, padding=r) for r in rates)]
        )
        self.aspp.img_conv = _convolved(before, 256, 1)
        self.bot_fine, self.bot_aspp = (nn.Conv2d(a, b, 1, bias=False) for a, b in ((128, 48), (1280, 256)))
        self.final = nn.Sequential(
            *_convolved(304, 256, padding=1), *_convolved(256, 256, padding=1), nn.Conv2d(256, classes, 1, bias=False)
        )

    def forward(self, x):
        def resized(y, like):
            return functional.interpolate(y, like.shape[2:], mode="bilinear", align_corners=True)

        fine = self.mod2(functional.max_pool2d(self.mod1(x), 3, 2, 1))
        y = functional.max_pool2d(fine, 3, 2, 1)
        for i in range(3, 8):
            y = getattr(self, f"mod{i}")(y)
        mean = resized(self.aspp.img_conv(y.mean((2, 3), keepdim=True)), y)
        seen = self.bot_aspp(torch.cat([mean, *(part(y) for part in self.aspp.features)], 1))
        return resized(self.final(torch.cat([self.bot_fine(fine), resized(seen, fine)], 1)), x)


TWINS["deeplab_v3b_plus_wideresnet_citys"] = Twin(
    "authors", WideSegmentation, "authors' names (semantic-segmentation)", 64, {"crop_size": 64}
)
