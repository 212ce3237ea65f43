"""Weights under the names of torchvision and timm: the networks here give what plain torch operators give with them."""

import re

import numpy as np
import pytest
import torch

from core import nd
from core.base import MXNetError
from core.files import write_safetensors
from gluon import nn
from gluoncv import model_zoo
from gluoncv.model_zoo import differences
from gluoncv.model_zoo.state_dict import load_state_dict

RANDOM = np.random.RandomState(0)


class Weights:
    """Makes the weights that a forward pass asks for, by torchvision's names and with its shapes,
    and computes the layers.
    """

    def __init__(self, epsilon=1e-5):
        self.values, self.epsilon = {}, epsilon

    def get(self, name, *shape, low=None):
        if name not in self.values:
            if low is not None:
                value = RANDOM.uniform(low, low + 1, shape)
            else:
                value = (
                    RANDOM.standard_normal(shape) * (2 / max(np.prod(shape[1:]), 1) if len(shape) > 1 else 0.01) ** 0.5
                )
            self.values[name] = torch.tensor(value, dtype=torch.float32)
        return self.values[name]

    def conv(self, name, x, channels, kernel=1, stride=1, padding=None, groups=1, bias=False):
        kernel = (kernel, kernel) if isinstance(kernel, int) else kernel
        padding = tuple(k // 2 for k in kernel) if padding is None else padding
        weight = self.get(f"{name}.weight", channels, x.shape[1] // groups, *kernel)
        return torch.conv2d(x, weight, self.get(f"{name}.bias", channels) if bias else None, stride, padding, 1, groups)

    def norm(self, name, x):
        n = x.shape[1]
        scale, shift = self.get(f"{name}.weight", n, low=0.5), self.get(f"{name}.bias", n)
        mean, var = self.get(f"{name}.running_mean", n), self.get(f"{name}.running_var", n, low=0.5)
        self.values[f"{name}.num_batches_tracked"] = torch.tensor(7)
        return torch.batch_norm(x, scale, shift, mean, var, False, 0.1, self.epsilon, False)

    def dense(self, name, x, units):
        return x @ self.get(f"{name}.weight", units, x.shape[1]).T + self.get(f"{name}.bias", units)

    def arrays(self):
        return {name: value.numpy() for name, value in self.values.items()}


def pool(x, kernel=3, stride=2, padding=1):
    return torch.max_pool2d(x, kernel, stride, padding)


def resnet(layers, bottleneck):
    def forward(w, x):
        x = pool(torch.relu(w.norm("bn1", w.conv("conv1", x, 64, 7, 2))))
        for stage, count in enumerate(layers):
            for block in range(count):
                name, width = f"layer{stage + 1}.{block}", 64 << stage
                stride = 2 if stage and not block else 1
                rows = ((1, 1, 1), (3, stride, 1), (1, 1, 4)) if bottleneck else ((3, stride, 1), (3, 1, 1))
                y = x
                for i, (kernel, step, factor) in enumerate(rows, 1):
                    y = w.norm(f"{name}.bn{i}", w.conv(f"{name}.conv{i}", y, factor * width, kernel, step))
                    y = torch.relu(y) if i < len(rows) else y
                if stride > 1 or x.shape[1] != y.shape[1]:
                    x = w.norm(f"{name}.downsample.1", w.conv(f"{name}.downsample.0", x, y.shape[1], 1, stride))
                x = torch.relu(x + y)
        return w.dense("fc", x.mean((2, 3)), 1000)

    return forward


def densenet(w, x):
    x = pool(torch.relu(w.norm("features.norm0", w.conv("features.conv0", x, 64, 7, 2))))
    for block, count in enumerate((6, 12, 24, 16), 1):
        for layer in range(1, count + 1):
            name = f"features.denseblock{block}.denselayer{layer}"
            y = w.conv(f"{name}.conv1", torch.relu(w.norm(f"{name}.norm1", x)), 128)
            x = torch.cat([x, w.conv(f"{name}.conv2", torch.relu(w.norm(f"{name}.norm2", y)), 32, 3)], 1)
        if block < 4:
            name = f"features.transition{block}"
            x = w.conv(f"{name}.conv", torch.relu(w.norm(f"{name}.norm", x)), x.shape[1] // 2)
            x = torch.ops.aten.avg_pool2d(x, [2, 2], [2, 2])
    return w.dense("classifier", torch.relu(w.norm("features.norm5", x)).mean((2, 3)), 1000)


def vgg(normalised):
    def forward(w, x):
        index = 0
        for channels in (64, "pool", 128, "pool", 256, 256, "pool", 512, 512, "pool", 512, 512, "pool"):
            if channels == "pool":
                x, index = pool(x, 2, 2, 0), index + 1
                continue
            x = w.conv(f"features.{index}", x, channels, 3, bias=True)
            x = torch.relu(w.norm(f"features.{index + 1}", x) if normalised else x)
            index += 2 + normalised
        x = torch.relu(w.dense("classifier.0", x.flatten(1), 4096))
        return w.dense("classifier.6", torch.relu(w.dense("classifier.3", x, 4096)), 1000)

    return forward


BOTTLENECKS = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def mobilenet(timm):
    def forward(w, x):
        def layer(conv, norm, x, channels, *args, act=True, **kwargs):
            x = w.norm(norm, w.conv(conv, x, channels, *args, **kwargs))
            return torch.clamp(x, 0, 6) if act else x

        first, last = (("conv_stem", "bn1"), ("conv_head", "bn2")) if timm else (
            ("features.0.0", "features.0.1"), ("features.18.0", "features.18.1"),
        )  # fmt: skip
        x, index = layer(*first, x, 32, 3, 2), 0
        for stage, (t, channels, count, step) in enumerate(BOTTLENECKS):
            for k in range(count):
                index, wide, stride = index + 1, t * x.shape[1], step if k == 0 else 1
                if timm:
                    parts = ("conv_dw bn1 conv_pw bn2" if t == 1 else "conv_pw bn1 conv_dw bn2 conv_pwl bn3").split()
                    names = [f"blocks.{stage}.{k}.{part}" for part in parts]
                else:
                    parts = "0.0 0.1 1 2" if t == 1 else "0.0 0.1 1.0 1.1 2 3"
                    names = [f"features.{index}.conv.{part}" for part in parts.split()]
                y = layer(*names[:2], x, wide) if t > 1 else x
                y = layer(*names[-4:-2], y, wide, 3, stride, groups=wide)
                y = layer(*names[-2:], y, channels, act=False)
                x = x + y if stride == 1 and x.shape[1] == channels else y
        return w.dense("classifier" if timm else "classifier.1", layer(*last, x, 1280).mean((2, 3)), 1000)

    return forward


# Kernel, expanded channels, channels, whether channels are weighed, whether the activation is the hard swish,
# stride; by stage
LARGE = (
    ((3, 16, 16, 0, 0, 1),), ((3, 64, 24, 0, 0, 2), (3, 72, 24, 0, 0, 1)),
    ((5, 72, 40, 1, 0, 2), (5, 120, 40, 1, 0, 1), (5, 120, 40, 1, 0, 1)),
    ((3, 240, 80, 0, 1, 2), (3, 200, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1)),
    ((3, 480, 112, 1, 1, 1), (3, 672, 112, 1, 1, 1)), ((5, 672, 160, 1, 1, 2), (5, 960, 160, 1, 1, 1), (5, 960, 160, 1, 1, 1)),
)  # fmt: skip
SMALL = (
    ((3, 16, 16, 1, 0, 2),), ((3, 72, 24, 0, 0, 2), (3, 88, 24, 0, 0, 1)),
    ((5, 96, 40, 1, 1, 2), (5, 240, 40, 1, 1, 1), (5, 240, 40, 1, 1, 1)), ((5, 120, 48, 1, 1, 1), (5, 144, 48, 1, 1, 1)),
    ((5, 288, 96, 1, 1, 2), (5, 576, 96, 1, 1, 1), (5, 576, 96, 1, 1, 1)),
)  # fmt: skip


def mobilenet_v3(stages, last, pooled, timm):
    def forward(w, x):
        def layer(conv, norm, x, channels, *args, act=None, **kwargs):
            x = w.norm(norm, w.conv(conv, x, channels, *args, **kwargs))
            return act(x) if act else x

        def swish(x):
            return x * torch.clamp(x + 3, 0, 6) / 6

        def weighed(reduce, expand, x):
            y = torch.relu(w.conv(reduce, x.mean((2, 3), True), -(-(x.shape[1] // 4) // 8) * 8, bias=True))
            return x * torch.clamp(w.conv(expand, y, x.shape[1], bias=True) + 3, 0, 6) / 6

        x, index = (
            layer(*(("conv_stem", "bn1") if timm else ("features.0.0", "features.0.1")), x, 16, 3, 2, act=swish),
            0,
        )
        for s, stage in enumerate(stages):
            for k, (kernel, wide, channels, se, hard, stride) in enumerate(stage):
                index, act = index + 1, swish if hard else torch.relu
                if timm:
                    name = f"blocks.{s}.{k}"
                    parts = (
                        "conv_dw bn1 conv_pw bn2" if wide == x.shape[1] else "conv_pw bn1 conv_dw bn2 conv_pwl bn3"
                    ).split()
                    se_names = [f"{name}.se.conv_reduce", f"{name}.se.conv_expand"]
                else:
                    name, first = f"features.{index}.block", int(wide != x.shape[1])
                    places = [0] * first + [first, first + 1 + se]
                    parts = [f"{place}.{j}" for place in places for j in (0, 1)]
                    se_names = [f"{name}.{first + 1}.fc1", f"{name}.{first + 1}.fc2"]
                parts = [f"{name}.{part}" for part in parts]
                y = layer(*parts[:2], x, wide, act=act) if wide != x.shape[1] else x
                y = layer(*parts[-4:-2], y, wide, kernel, stride, groups=wide, act=act)
                y = layer(*parts[-2:], weighed(*se_names, y) if se else y, channels)
                x = x + y if stride == 1 and x.shape[1] == channels else y
        names = (f"blocks.{len(stages)}.0.conv", f"blocks.{len(stages)}.0.bn1") if timm else (
            f"features.{index + 1}.0", f"features.{index + 1}.1",
        )  # fmt: skip
        x = layer(*names, x, last, act=swish).mean((2, 3), True)
        if timm:
            return w.dense("classifier", swish(w.conv("conv_head", x, pooled, bias=True)).flatten(1), 1000)
        return w.dense("classifier.3", swish(w.dense("classifier.0", x.flatten(1), pooled)), 1000)

    return forward


def inception(w, x):
    def layer(name, x, channels, kernel=1, stride=1, padding=None):
        return torch.relu(w.norm(f"{name}.bn", w.conv(f"{name}.conv", x, channels, kernel, stride, padding)))

    def chain(name, x, *rows):
        for i, row in enumerate(rows, 1):
            x = layer(f"{name}_{i}", x, *row)
        return x

    def average(x):
        return torch.ops.aten.avg_pool2d(x, [3, 3], [1, 1], [1, 1])

    x = layer("Conv2d_1a_3x3", x, 32, 3, 2, 0)
    x = pool(layer("Conv2d_2b_3x3", layer("Conv2d_2a_3x3", x, 32, 3, 1, 0), 64, 3), 3, 2, 0)
    x = pool(layer("Conv2d_4a_3x3", layer("Conv2d_3b_1x1", x, 80), 192, 3, 1, 0), 3, 2, 0)
    for name, pooled in (("Mixed_5b", 32), ("Mixed_5c", 64), ("Mixed_5d", 64)):
        parts = [layer(f"{name}.branch1x1", x, 64), chain(f"{name}.branch5x5", x, (48,), (64, 5))]
        parts += [chain(f"{name}.branch3x3dbl", x, (64,), (96, 3), (96, 3))]
        x = torch.cat([*parts, layer(f"{name}.branch_pool", average(x), pooled)], 1)
    parts = [layer("Mixed_6a.branch3x3", x, 384, 3, 2, 0)]
    parts += [chain("Mixed_6a.branch3x3dbl", x, (64,), (96, 3), (96, 3, 2, 0)), pool(x, 3, 2, 0)]
    x = torch.cat(parts, 1)
    for name, c in (("Mixed_6b", 128), ("Mixed_6c", 160), ("Mixed_6d", 160), ("Mixed_6e", 192)):
        parts = [layer(f"{name}.branch1x1", x, 192), chain(f"{name}.branch7x7", x, (c,), (c, (1, 7)), (192, (7, 1)))]
        rows = ((c,), (c, (7, 1)), (c, (1, 7)), (c, (7, 1)), (192, (1, 7)))
        x = torch.cat(
            [*parts, chain(f"{name}.branch7x7dbl", x, *rows), layer(f"{name}.branch_pool", average(x), 192)], 1
        )
    parts = [chain("Mixed_7a.branch3x3", x, (192,), (320, 3, 2, 0))]
    parts += [chain("Mixed_7a.branch7x7x3", x, (192,), (192, (1, 7)), (192, (7, 1)), (192, 3, 2, 0)), pool(x, 3, 2, 0)]
    x = torch.cat(parts, 1)
    for name in ("Mixed_7b", "Mixed_7c"):
        parts = [layer(f"{name}.branch1x1", x, 320)]
        y = layer(f"{name}.branch3x3_1", x, 384)
        parts += [layer(f"{name}.branch3x3_2a", y, 384, (1, 3)), layer(f"{name}.branch3x3_2b", y, 384, (3, 1))]
        y = chain(f"{name}.branch3x3dbl", x, (448,), (384, 3))
        parts += [layer(f"{name}.branch3x3dbl_3a", y, 384, (1, 3)), layer(f"{name}.branch3x3dbl_3b", y, 384, (3, 1))]
        x = torch.cat([*parts, layer(f"{name}.branch_pool", average(x), 192)], 1)
    return w.dense("fc", x.mean((2, 3)), 1000)


NETWORKS = {
    "resnet18_v1b": (resnet((2, 2, 2, 2), False), 64, 1e-5),
    "resnet18_v1": (resnet((2, 2, 2, 2), False), 64, 1e-5),
    "resnet50_v1b": (resnet((3, 4, 6, 3), True), 64, 1e-5),
    "densenet121": (densenet, 224, 1e-5),
    "vgg11": (vgg(False), 224, 1e-5),
    "vgg11_bn": (vgg(True), 224, 1e-5),
    "mobilenetv2_1.0": (mobilenet(timm=False), 64, 1e-5),
    "mobilenetv2_1.0 of timm": (mobilenet(timm=True), 64, 1e-5),
    "mobilenetv3_large": (mobilenet_v3(LARGE, 960, 1280, timm=False), 64, 1e-3),
    "mobilenetv3_small": (mobilenet_v3(SMALL, 576, 1024, timm=False), 64, 1e-3),
    "mobilenetv3_large of timm": (mobilenet_v3(LARGE, 960, 1280, timm=True), 64, 1e-5),
    "mobilenetv3_small of timm": (mobilenet_v3(SMALL, 576, 1024, timm=True), 64, 1e-5),
    "inceptionv3": (inception, 299, 1e-3),
}


# Weights of half a gigabyte, and large pictures.
HEAVY = ("vgg11", "vgg11_bn", "densenet121")


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=[pytest.mark.slow] * (kind in HEAVY)) for kind in NETWORKS])
@torch.no_grad()
def test_networks_give_what_torch_gives(kind, tmp_path):
    forward, size, epsilon = NETWORKS[kind]
    weights, x = Weights(epsilon), RANDOM.standard_normal((1, 3, size, size)).astype("float32")
    want = forward(weights, torch.tensor(x)).numpy()
    if kind == "inceptionv3":
        weights.get("AuxLogits.fc.weight", 1000, 768)
    path = tmp_path / "weights.pth"
    torch.save(weights.values, path)
    net = model_zoo.get_model(kind.split()[0], pretrained=path)
    got = net(nd.array(x)).asnumpy()
    assert np.abs(want).max() > 0.01
    assert (net.classes[0], net.synset[-1], len(net.classes_long)) == ("tench", "n15075141", 1000)
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4 * np.abs(want).max())


@pytest.fixture(scope="module")
def weights():
    made = Weights()
    with torch.no_grad():
        resnet((2, 2, 2, 2), False)(made, torch.zeros(1, 3, 32, 32))
    return made.values


def same(net, weights):
    return (net.layer4[1].conv2.weight.data().asnumpy() == weights["layer4.1.conv2.weight"].float().numpy()).all()


def test_safetensors(weights, tmp_path):
    path = tmp_path / "resnet18.safetensors"
    write_safetensors(path, {name: value.numpy() for name, value in weights.items()})
    assert same(model_zoo.get_model("resnet18_v1b", pretrained=path), weights)


@pytest.mark.parametrize(
    "wrap", [lambda w: {"state_dict": w, "epoch": 3}, lambda w: {f"module.{k}": v for k, v in w.items()}]
)
def test_what_training_programs_save(wrap, weights, tmp_path):
    torch.save(wrap(weights), tmp_path / "checkpoint.pth")
    assert same(model_zoo.get_model("resnet18_v1b", pretrained=tmp_path / "checkpoint.pth"), weights)


def test_half_precision(weights, tmp_path):
    half = {name: value.to(torch.bfloat16) if value.is_floating_point() else value for name, value in weights.items()}
    torch.save(half, tmp_path / "half.pth")
    assert same(model_zoo.get_model("resnet18_v1b", pretrained=tmp_path / "half.pth"), half)


def test_old_names_of_densenets():
    with torch.no_grad():
        made = Weights()
        densenet(made, torch.zeros(1, 3, 64, 64))
    old = {re.sub(r"(denselayer\d+\.(?:norm|conv))(\d)", r"\1.\2", name): v for name, v in made.arrays().items()}
    assert "features.denseblock1.denselayer1.norm.1.weight" in old
    net = model_zoo.get_model("densenet121")
    load_state_dict(net, old)
    np.testing.assert_array_equal(net.features[11].gamma.data().asnumpy(), old["features.norm5.weight"])


def test_files_that_do_not_fit(weights, tmp_path):
    arrays = {name: value.numpy() for name, value in weights.items()}
    net = model_zoo.get_model("resnet18_v1b")
    with pytest.raises(MXNetError, match=r"lacks 1 parameters of ResNetV1b: fc.bias"):
        load_state_dict(net, {k: v for k, v in arrays.items() if k != "fc.bias"})
    with pytest.raises(MXNetError, match=r"has 1 parameters that ResNetV1b has no place for: layer9.weight"):
        load_state_dict(net, {**arrays, "layer9.weight": np.zeros(3, "float32")})
    with pytest.raises(MXNetError, match=r"fc.weight has the shape \(10, 512\) here and \(1000, 512\) there"):
        load_state_dict(model_zoo.get_model("resnet18_v1b", classes=10), arrays)
    with pytest.raises(MXNetError, match="no map of names for Xception65"):
        load_state_dict(model_zoo.get_model("xception"), arrays)


def test_a_file_that_would_execute_is_refused(tmp_path):
    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "executed"), "w"))

    torch.save({"fc.weight": Evil()}, tmp_path / "evil.pth")
    with pytest.raises(MXNetError, match="open"):
        model_zoo.get_model("resnet18_v1b", pretrained=tmp_path / "evil.pth")
    assert not (tmp_path / "executed").exists()


def test_differences_are_told_made_and_gone():
    """Mobile networks that were trained with outputs cut at 6."""
    net = nn.HybridSequential()
    net.add(nn.Dense(2, in_units=1, use_bias=False), nn.Activation("relu"), nn.BatchNorm(in_channels=2))
    net.initialize()
    net.hybridize()
    net[0].weight.set_data(nd.array([[3], [9]]))
    wanted = {"activation": "relu6", "epsilon": 3.0}
    assert net(nd.ones((1, 1))).asnumpy()[0] == pytest.approx([3, 9], rel=1e-4)
    assert differences.text(net, wanted) == "activation relu6, epsilon 3.0"
    differences.make(net, wanted)
    assert net(nd.ones((1, 1))).asnumpy()[0] == pytest.approx([1.5, 3])
    assert differences.text(net, wanted) == ""
