"""AlexNet (Krizhevsky et al., 2012), in the version with one tower (Krizhevsky, 2014)."""

from gluon import nn
from gluon.model_zoo.vision.registry import Classifier, model

# channels, kernel, strides, padding; None is a pooling
CONVOLUTIONS = (
    (64, 11, 4, 2),
    None,
    (192, 5, 1, 2),
    None,
    (384, 3, 1, 1),
    (256, 3, 1, 1),
    (256, 3, 1, 1),
    None,
)


class AlexNet(Classifier):
    """Input (batch, 3, 224, 224), output (batch, classes).

    >>> net = gluon.model_zoo.vision.AlexNet(classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """

    def __init__(self, classes=1000, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            with self.features.name_scope():
                for row in CONVOLUTIONS:
                    self.features.add(
                        nn.MaxPool2D(pool_size=3, strides=2) if row is None else nn.Conv2D(*row, activation="relu")
                    )
                self.features.add(nn.Flatten())
                for _ in range(2):
                    self.features.add(nn.Dense(4096, activation="relu"), nn.Dropout(0.5))
            self.output = nn.Dense(classes)


alexnet = model("alexnet", AlexNet)
