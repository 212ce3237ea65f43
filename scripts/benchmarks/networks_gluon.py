"""The networks of the benchmarks as Gluon builds them: each takes `gluon`, this project's or the original's."""

from __future__ import annotations

from scripts.common.lenet import lenet


def build(name: str, gluon, words: int):
    """The network of that name; `words`: the size of the vocabulary, where it reads words."""
    return {
        "ResNet-50 v1": lambda: gluon.model_zoo.vision.resnet50_v1(),
        "MobileNet 1.0": lambda: gluon.model_zoo.vision.mobilenet1_0(),
        "LeNet": lambda: lenet(gluon.nn),
        "CIFAR ResNet-20": lambda: cifar_resnet(gluon, blocks=3),
        "textCNN": lambda: text_cnn(gluon, words),
        "LSTM LM": lambda: language_model(gluon, words),
        "BERT-base": lambda: bert_base(words),
        "SSD 300": lambda: detector(gluon),
        "GPT-2 decoding": lambda: gpt2_decoding(gluon, words),
    }[name.partition(",")[0]]()


def cifar_resnet(gluon, blocks: int):
    """A stem and three groups of residual blocks of 16, 32 and 64 channels, as in He et al., 2016; 3 make ResNet-20."""
    nn = gluon.nn

    class Residual(gluon.HybridBlock):
        def __init__(self, channels, stride):
            super().__init__()
            with self.name_scope():
                self.body = nn.HybridSequential()
                self.body.add(
                    nn.Conv2D(channels, 3, stride, 1, use_bias=False),
                    nn.BatchNorm(),
                    nn.Activation("relu"),
                    nn.Conv2D(channels, 3, 1, 1, use_bias=False),
                    nn.BatchNorm(),
                )
                self.shortcut = nn.HybridSequential()
                if stride > 1:
                    self.shortcut.add(nn.Conv2D(channels, 1, stride, use_bias=False), nn.BatchNorm())

        def hybrid_forward(self, F, x):
            return F.relu(self.body(x) + self.shortcut(x))

    net = nn.HybridSequential()
    net.add(nn.Conv2D(16, 3, 1, 1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
    for group, channels in enumerate((16, 32, 64)):
        for index in range(blocks):
            net.add(Residual(channels, 2 if group and not index else 1))
    net.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(10))
    return net


def text_cnn(gluon, words: int):
    """Windows of 3, 4 and 5 words, 100 filters each, largest answers (Kim, 2014); input (N, length)."""
    nn = gluon.nn

    class TextCNN(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.embedding = nn.Embedding(words, 300)
                self.windows = gluon.contrib.nn.HybridConcurrent(axis=1)
                for width in (3, 4, 5):
                    window = nn.HybridSequential()
                    window.add(nn.Conv1D(100, width, activation="relu"), nn.GlobalMaxPool1D(), nn.Flatten())
                    self.windows.add(window)
                self.output = nn.HybridSequential()
                self.output.add(nn.Dropout(0.5), nn.Dense(2))

        def hybrid_forward(self, F, x):
            return self.output(self.windows(F.transpose(self.embedding(x), axes=(0, 2, 1))))

    return TextCNN()


def language_model(gluon, words: int):
    """Two layers of 650 (Zaremba, Sutskever and Vinyals, 2014); input (length, N), output (length, N, words)."""
    net = gluon.nn.HybridSequential()
    net.add(
        gluon.nn.Embedding(words, 650),
        gluon.nn.Dropout(0.5),
        gluon.rnn.LSTM(650, 2, dropout=0.5),
        gluon.nn.Dropout(0.5),
        gluon.nn.Dense(words, flatten=False),
    )
    return net


def detector(gluon):
    """SSD of this project with VGG-16.

    Input (N, 3, 300, 300), output (N, 8732, 25), scores and offsets of each anchor.
    """
    from gluoncv.model_zoo import get_model

    class Detector(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.ssd = get_model("ssd_300_vgg16_atrous_voc", pretrained_base=False)

        def hybrid_forward(self, F, x):
            scores, offsets, _ = self.ssd(x)
            return F.concat(scores, offsets, dim=2)

    return Detector()


def bert_base(words: int):
    """Of this project only; inputs (N, length) words and (N, length) types, the last output (N, 2)."""
    from gluonnlp.model import BERTEncoder, BERTModel

    encoder = BERTEncoder(
        num_layers=12, units=768, hidden_size=3072, max_length=512, num_heads=12, dropout=0.1
    )  # fmt: skip
    return BERTModel(encoder, words, 2, units=768, embed_size=768, use_decoder=False)


def gpt2_decoding(gluon, words: int):
    """GPT-2 of 117 million, of this project only: a word each, (N, 1), to the 32 most likely ones behind it, (N, 32).

    Keys and values are written to memory that is there from the beginning.
    """
    from core import nd
    from gluonnlp.model import GPT2Model

    class Decoding(gluon.Block):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.network = GPT2Model(units=768, vocab_size=words, max_length=1024, num_layers=12, num_heads=12)

        def forward(self, word):
            dtype = next(iter(self.collect_params().values())).dtype
            states, found = self.network.begin_cache(len(word), capacity=64, ctx=word.context, dtype=dtype), []
            for _ in range(32):
                scores, states = self.network(word, states)
                word = nd.argmax(scores.astype("float32"), axis=2).astype("int32")
                found.append(word)
            return nd.concat(*found, dim=1)

    return Decoding()
