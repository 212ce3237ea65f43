# %% [markdown]
# # Detection and segmentation
#
# A detector says what is where, as boxes; a segmenter says of each pixel what it belongs to. First with networks of the
# zoo and their published weights, where these can be had; then both from nothing, on pictures that are drawn here.

# %%
import matplotlib.pyplot as plt
import numpy as np

import core as mx
from gluon import Trainer, loss, nn
from gluoncv import data
from gluoncv.model_zoo import get_model
from gluoncv.utils import viz

mx.random.seed(0)
random = np.random.RandomState(0)

# %% [markdown]
# ## A detector of the zoo
#
# `data.transforms.presets.ssd.load_test` reads a file, resizes the picture and makes the input (`transform_test` does
# that for pictures in memory). The network returns classes, scores and boxes, best first, of which `plot_bbox` draws
# those above a threshold. Where the server does not answer, or with `MXNET_OFFLINE=1`, weights are missing, which the
# error says; the name of a file does in place of `True`.


# %%
def drawn(count, size=64):
    """Pictures (count, size, size, 3) of bytes with one light square each, and its box in parts of the picture."""
    pictures = random.randint(0, 90, (count, size, size, 3)).astype("uint8")
    boxes = np.zeros((count, 1, 5), "float32")
    for k in range(count):
        side = random.randint(18, 30)
        x, y = random.randint(0, size - side, 2)
        pictures[k, y : y + side, x : x + side] = random.randint(150, 256, 3)
        boxes[k, 0] = 0, x / size, y / size, (x + side) / size, (y + side) / size
    return pictures, boxes


pictures, _ = drawn(1, 256)
try:
    net = get_model("ssd_512_mobilenet1.0_coco", pretrained=True)
except (mx.MXNetError, OSError) as error:
    print("without weights:", str(error).splitlines()[0][:160])
    net = get_model("ssd_512_mobilenet1.0_coco", pretrained_base=False)
    net.initialize()
x, shown = data.transforms.presets.ssd.transform_test([mx.nd.array(pictures[0], dtype="uint8")], short=256)
classes, scores, found = net(x)
print(classes.shape, scores.shape, found.shape, net.classes[:4])
axis = viz.plot_bbox(shown, found[0], scores[0], classes[0], thresh=0.5, class_names=net.classes)

# %% [markdown]
# Segmentation goes the same way: `get_model("fcn_resnet101_voc", pretrained=True)`, `net.predict(picture)`, and
# `viz.get_color_pallete` for a picture of the classes.
#
# ## A detector from nothing
#
# Each cell of an 8 x 8 map has a few anchors, boxes of fixed sizes. The network says for each anchor whether a square is
# there, and how its box differs from the anchor. `MultiBoxTarget` compares anchors with the true boxes, and
# `MultiBoxDetection` makes boxes of what the network says and suppresses those that say the same.


# %%
class Detector(nn.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.body = nn.HybridSequential()
        for channels in (16, 24, 32):
            self.body.add(nn.Conv2D(channels, 3, padding=1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
            self.body.add(nn.MaxPool2D())
        self.scores = nn.Conv2D(3 * 2, kernel_size=3, padding=1)  # three anchors a cell; background, square
        self.boxes = nn.Conv2D(3 * 4, kernel_size=3, padding=1)

    def hybrid_forward(self, F, x):
        features = self.body(x)
        anchors = F.contrib.MultiBoxPrior(features, sizes=(0.3, 0.38, 0.46), ratios=(1,))
        scores = self.scores(features).transpose((0, 2, 3, 1)).reshape((0, -1, 2))
        return anchors, scores, self.boxes(features).transpose((0, 2, 3, 1)).flatten()


detector = Detector()
detector.initialize(mx.init.Xavier())
detector.hybridize()
trainer = Trainer(detector.collect_params(), "adam", {"learning_rate": 4e-3})
scores_loss, boxes_loss = loss.SoftmaxCrossEntropyLoss(), loss.L1Loss()
pictures, boxes = drawn(256)
inputs, targets = mx.nd.array(pictures.transpose(0, 3, 1, 2)) / 255, mx.nd.array(boxes)
losses = []
for step in range(60):
    rows = slice(step % 8 * 32, step % 8 * 32 + 32)
    with mx.autograd.record():
        anchors, scores, offsets = detector(inputs[rows])
        with mx.autograd.pause():
            wanted, mask, classes = mx.nd.contrib.MultiBoxTarget(anchors, targets[rows], scores.transpose((0, 2, 1)))
        error = scores_loss(scores, classes) + boxes_loss(offsets * mask, wanted * mask)
    error.backward()
    trainer.step(32)
    losses.append(error.mean().asscalar())

# %%
pictures, boxes = drawn(4)
anchors, scores, offsets = detector(mx.nd.array(pictures.transpose(0, 3, 1, 2)) / 255)
found = mx.nd.contrib.MultiBoxDetection(scores.softmax(axis=-1).transpose((0, 2, 1)), offsets, anchors).asnumpy()
figure, axes = plt.subplots(1, 5, figsize=(12, 2.6))
axes[0].plot(losses)
axes[0].set(xlabel="step", title="loss")
overlaps = []
for axis, picture, rows, (truth,) in zip(axes[1:], pictures, found, boxes):
    best = rows[rows[:, 0] >= 0][:1]
    viz.plot_bbox(picture, best[:, 2:] * 64, best[:, 1], best[:, 0], 0.1, ["square"], ax=axis, linewidth=2)
    pair = mx.nd.array(best[:, 2:]), mx.nd.array(truth[None, 1:])
    overlaps.append(mx.nd.contrib.box_iou(*pair).asscalar())
print("overlap with the truth:", np.round(overlaps, 2))
assert np.mean(overlaps) > 0.5

# %% [markdown]
# ## A segmenter from nothing
#
# The same pictures, and for each pixel whether it belongs to the square: convolutions down, a transposed one up.

# %%
segmenter = nn.HybridSequential()
segmenter.add(
    nn.Conv2D(16, 3, padding=1, strides=2, activation="relu"),
    nn.Conv2D(16, 3, padding=1, activation="relu"),
    nn.Conv2DTranspose(2, 4, strides=2, padding=1),
)
segmenter.initialize(mx.init.Xavier())
segmenter.hybridize()
trainer = Trainer(segmenter.collect_params(), "adam", {"learning_rate": 1e-2})
pixel_loss = loss.SoftmaxCrossEntropyLoss(axis=1)


def masks(boxes, size=64):
    """1 inside of the boxes, 0 outside (count, size, size)."""
    y, x = np.mgrid[:size, :size] + 0.5
    left, top, right, bottom = (boxes[:, 0, k, None, None] * size for k in (1, 2, 3, 4))
    return ((x > left) & (x < right) & (y > top) & (y < bottom)).astype("float32")


learned, learned_boxes = drawn(64)
inputs, wanted = mx.nd.array(learned.transpose(0, 3, 1, 2)) / 255, mx.nd.array(masks(learned_boxes))
for step in range(64):
    rows = slice(step % 4 * 16, step % 4 * 16 + 16)
    with mx.autograd.record():
        error = pixel_loss(segmenter(inputs[rows]), wanted[rows])
    error.backward()
    trainer.step(16)

found = segmenter(mx.nd.array(pictures.transpose(0, 3, 1, 2)) / 255).argmax(axis=1).asnumpy()
figure, axes = plt.subplots(2, 4, figsize=(8, 4))
for k, (above, below) in enumerate(axes.T):
    above.imshow(pictures[k])
    below.imshow(found[k], cmap="gray")
    above.set(xticks=[], yticks=[])
    below.set(xticks=[], yticks=[])
right = (found == masks(boxes)).mean()
print(f"{right:.1%} of the pixels are right")
assert right > 0.9
