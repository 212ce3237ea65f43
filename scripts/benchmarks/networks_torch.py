"""The networks of the benchmarks as PyTorch's tutorials and torchvision write them, with Gluon's parameters."""

from __future__ import annotations

import torch
from torch import nn


def build(name: str, words: int) -> nn.Module:
    """The network of that name; `words`: the size of the vocabulary, where it reads words."""
    return {
        "ResNet-50 v1": resnet50,
        "MobileNet 1.0": mobilenet,
        "LeNet": lenet,
        "CIFAR ResNet-20": lambda: cifar_resnet(blocks=3),
        "textCNN": lambda: TextCNN(words),
        "LSTM LM": lambda: LanguageModel(words),
        "BERT-base": lambda: BERT(words),
        "SSD 300": SSD,
        "GPT-2 decoding": lambda: Decoding(words),
    }[name.partition(",")[0]]()


def lenet() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2, 2),
        nn.Conv2d(20, 50, 5), nn.ReLU(), nn.MaxPool2d(2, 2),
        nn.Flatten(), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10),
    )  # fmt: skip


class Residual(nn.Module):
    """relu(body(x) + shortcut(x)); `project` puts a convolution with normalization on the shortcut."""

    def __init__(self, body: list, project: bool, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.body = nn.Sequential(*body)
        self.shortcut = nn.Sequential(*(normalized(inputs, outputs, 1, stride) if project else ()))

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


def normalized(inputs: int, outputs: int, kernel: int, stride: int = 1, **options) -> list:
    """A convolution that keeps the size but for its stride, and its batch normalization."""
    options = {"padding": kernel // 2, "bias": False, **options}
    return [nn.Conv2d(inputs, outputs, kernel, stride, **options), nn.BatchNorm2d(outputs)]


def cifar_resnet(blocks: int) -> nn.Module:
    layers, inputs = [*normalized(3, 16, 3), nn.ReLU()], 16
    for channels in (16, 32, 64):
        for _ in range(blocks):
            stride = 1 if channels == inputs else 2
            body = [*normalized(inputs, channels, 3, stride), nn.ReLU(), *normalized(channels, channels, 3)]
            layers.append(Residual(body, stride > 1, inputs, channels, stride))
            inputs = channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def resnet50() -> nn.Module:
    """Version 1 as Gluon has it: the stride in the first convolution of a block, biases in those of 1 x 1."""
    layers, inputs = [*normalized(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for group, (blocks, outputs) in enumerate(zip((3, 4, 6, 3), (256, 512, 1024, 2048))):
        for index in range(blocks):
            stride, inner = 2 if group and not index else 1, outputs // 4
            body = [
                *normalized(inputs, inner, 1, stride, bias=True), nn.ReLU(),
                *normalized(inner, inner, 3), nn.ReLU(), *normalized(inner, outputs, 1, bias=True),
            ]  # fmt: skip
            layers.append(Residual(body, not index, inputs, outputs, stride))
            inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def mobilenet() -> nn.Module:
    layers, inputs = [*normalized(3, 32, 3, 2), nn.ReLU()], 32
    outputs = [64, 128, 128, 256, 256, *[512] * 6, 1024, 1024]
    strides = [1, 2, 1, 2, 1, 2, *[1] * 5, 2, 1]
    for channels, stride in zip(outputs, strides):
        layers += [*normalized(inputs, inputs, 3, stride, groups=inputs), nn.ReLU()]
        layers += [*normalized(inputs, channels, 1), nn.ReLU()]
        inputs = channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1024, 1000))


class SSD(nn.Module):
    """SSD with VGG-16 for pictures of 300 (Liu et al., 2016): (N, 8732, 25), scores and offsets of each anchor."""

    def __init__(self):
        super().__init__()
        stages, inputs = [], 3
        for count, outputs in ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)):
            layers = []
            for _ in range(count):
                layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU()]
                inputs = outputs
            stages.append(nn.Sequential(*layers))
        dilated = nn.Conv2d(512, 1024, 3, padding=6, dilation=6), nn.ReLU(), nn.Conv2d(1024, 1024, 1), nn.ReLU()
        self.stages, self.dilated = nn.ModuleList(stages), nn.Sequential(*dilated)
        self.scale, self.extras = nn.Parameter(torch.full((1, 512, 1, 1), 20.0)), nn.ModuleList()
        inputs = 1024
        for outputs, stride in ((512, 2), (256, 2), (256, 1), (256, 1)):
            narrow = nn.Conv2d(inputs, outputs // 2, 1), nn.ReLU()
            wide = nn.Conv2d(outputs // 2, outputs, 3, stride, padding=stride - 1), nn.ReLU()
            self.extras.append(nn.Sequential(*narrow, *wide))
            inputs = outputs
        maps = zip((512, 1024, 512, 256, 256, 256), (4, 6, 6, 6, 4, 4), strict=True)
        self.heads = nn.ModuleList(
            nn.ModuleList(nn.Conv2d(channels, anchors * width, 3, padding=1) for width in (21, 4))
            for channels, anchors in maps
        )

    def forward(self, x):
        for i, stage in enumerate(self.stages):
            x = stage(x)
            if i == 3:
                maps = [torch.nn.functional.normalize(x, dim=1) * self.scale]
            if i < 4:
                x = torch.nn.functional.max_pool2d(x, 2, 2, ceil_mode=True)
        maps.append(self.dilated(torch.nn.functional.max_pool2d(x, 3, 1, 1)))
        for extra in self.extras:
            maps.append(extra(maps[-1]))
        parts = [
            torch.cat([h(m).permute(0, 2, 3, 1).reshape(len(m), -1, w) for h, w in zip(heads, (21, 4), strict=True)], 2)
            for m, heads in zip(maps, self.heads, strict=True)
        ]
        return torch.cat(parts, 1)


class TextCNN(nn.Module):
    def __init__(self, words: int):
        super().__init__()
        self.embedding = nn.Embedding(words, 300)
        self.windows = nn.ModuleList(nn.Conv1d(300, 100, width) for width in (3, 4, 5))
        self.output = nn.Sequential(nn.Dropout(0.5), nn.Linear(300, 2))

    def forward(self, x):
        x = self.embedding(x).transpose(1, 2)
        return self.output(torch.cat([torch.relu(window(x)).amax(dim=2) for window in self.windows], dim=1))


class LanguageModel(nn.Module):
    def __init__(self, words: int):
        super().__init__()
        self.embedding = nn.Sequential(nn.Embedding(words, 650), nn.Dropout(0.5))
        self.lstm = nn.LSTM(650, 650, 2, dropout=0.5)
        self.output = nn.Sequential(nn.Dropout(0.5), nn.Linear(650, words))

    def forward(self, x):
        return self.output(self.lstm(self.embedding(x))[0])


class BERT(nn.Module):
    """Sequence (N, length, 768), pooled (N, 768) and scores (N, 2)."""

    def __init__(self, words: int):
        super().__init__()
        self.words, self.types = nn.Embedding(words, 768), nn.Embedding(2, 768)
        self.positions = nn.Parameter(torch.randn(512, 768) * 0.02)
        self.normalize = nn.Sequential(nn.Dropout(0.1), nn.LayerNorm(768, eps=1e-12))
        layer = nn.TransformerEncoderLayer(768, 12, 3072, 0.1, "gelu", 1e-12, batch_first=True)
        layer.dropout.p = 0.0  # BERT has none inside its position-wise network
        self.encoder = nn.TransformerEncoder(layer, 12)
        self.pooler = nn.Sequential(nn.Linear(768, 768), nn.Tanh())
        self.classifier = nn.Linear(768, 2)

    def forward(self, words, types):
        x = self.words(words) + self.types(types) + self.positions[: words.shape[1]]
        sequence = self.encoder(self.normalize(x))
        pooled = self.pooler(sequence[:, 0])
        return sequence, pooled, self.classifier(pooled)


class GPT2(nn.Module):
    """A word each, (N, 1), the position of all of them, and keys and values (2, N, 12, capacity, 64) of each layer, which
    are written in place, to scores (N, words)."""

    def __init__(self, words: int):
        super().__init__()
        self.words, self.positions = nn.Embedding(words, 768), nn.Embedding(1024, 768)
        self.layers = nn.ModuleList(
            nn.ModuleDict({
                "before": nn.LayerNorm(768), "heads": nn.Linear(768, 2304), "joined": nn.Linear(768, 768),
                "network": nn.Sequential(
                    nn.LayerNorm(768), nn.Linear(768, 3072), nn.GELU("tanh"), nn.Linear(3072, 768)
                ),
            })
            for _ in range(12)
        )  # fmt: skip
        self.after = nn.LayerNorm(768)

    def forward(self, word, position, caches):
        x = self.words(word) + self.positions(position)
        earlier = torch.arange(caches[0].shape[3], device=word.device)[None] <= position
        for layer, cache in zip(self.layers, caches, strict=True):
            heads = layer["heads"](layer["before"](x)).view(len(x), 1, 3, 12, 64).permute(2, 0, 3, 1, 4)
            cache.index_copy_(3, position, heads[1:])
            read = nn.functional.scaled_dot_product_attention(heads[0], *cache, attn_mask=earlier)
            x = x + layer["joined"](read.transpose(1, 2).flatten(2))
            x = x + layer["network"](x)
        return nn.functional.linear(self.after(x)[:, 0], self.words.weight)


class Decoding(nn.Module):
    """The most likely words one by one, the network compiled, the loop not."""

    def __init__(self, words: int):
        super().__init__()
        self.network = GPT2(words)

    def compile(self, **options):
        self.network.compile(**options)

    def forward(self, word):
        kind, device = self.network.words.weight.dtype, word.device
        caches, found = [torch.zeros(2, len(word), 12, 64, 64, dtype=kind, device=device) for _ in range(12)], []
        for position in torch.arange(32, device=device).split(1):
            word = self.network(word, position, caches).argmax(1, keepdim=True)
            found.append(word)
        return torch.cat(found, 1)
