"""C3D: convolutions over space and time (Tran et al., 2015)."""

from core import initializer
from gluon import nn
from gluoncv.model_zoo.action_recognition.recognizer import Recognizer, enter, scores

# name and channels of each convolution; name, kernel (and strides) and padding of the pooling after it
LAYERS = (
    ("conv1", 64, ("pool1", (1, 2, 2), 0)),
    ("conv2", 128, ("pool2", 2, 0)),
    ("conv3a", 256, None),
    ("conv3b", 256, ("pool3", 2, 0)),
    ("conv4a", 512, None),
    ("conv4b", 512, ("pool4", 2, 0)),
    ("conv5a", 512, None),
    ("conv5b", 512, ("pool5", 2, (0, 1, 1))),
)


class C3D(Recognizer):
    """Input (batch * segments * crops, 3, 16, 112, 112), output (batch, nclass), or 4,096 features if `feat_ext`.

    >>> net = gluoncv.model_zoo.get_model("c3d_kinetics400", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.C3D)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 16, 112, 112))[1]
    [(1, 400)]
    """

    def __init__(
        self, nclass, dropout_ratio=0.5, num_segments=1, num_crop=1, feat_ext=False, init_std=0.001,
        pretrained_base=True, root=None, ctx=None,
    ):  # fmt: skip
        super().__init__(8192, num_segments, num_crop, feat_ext)
        with self.name_scope():
            before = 3
            for name, channels, pool in LAYERS:
                setattr(self, name, nn.Conv3D(channels, 3, padding=1, in_channels=before))
                before = channels
                if pool is not None:
                    setattr(self, pool[0], nn.MaxPool3D(pool[1], pool[1], pool[2]))
            self.fc6, self.fc7 = scores(4096, init_std, 8192), scores(4096, init_std, 4096)
            self.fc8 = scores(nclass, init_std, 4096)
            self.dropout = nn.Dropout(dropout_ratio)
            self.relu = nn.Activation("relu")
        self.initialize(initializer.MSRAPrelu(), ctx=ctx)

    def hybrid_forward(self, F, x):
        for name, _, pool in LAYERS:
            x = self.relu(getattr(self, name)(x))
            if pool is not None:
                x = getattr(self, pool[0])(x)
        x = self.dropout(self.relu(self.fc6(self._mean(F, x))))
        return x if self.feat_ext else self.fc8(self.dropout(self.relu(self.fc7(x))))


c3d_kinetics400 = enter("c3d", "kinetics400", C3D)
