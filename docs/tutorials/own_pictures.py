# %% [markdown]
# # Pictures of your own
#
# A folder with a folder for each class is all that is needed: `flowers/rose/1.jpg`, `flowers/tulip/7.jpg`. Here the
# pictures are drawn, so that the page runs anywhere; put the name of your folder in place of `shapes`.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image, ImageDraw

import core as mx
from gluon.data.vision import transforms
from gluon.finetune import Recipe
from gluoncv.finetune import PictureClassifier, train_classifier

random = np.random.RandomState(3)


def drawn(kind: str) -> Image.Image:
    """A shape of random size, position and colour on a random ground."""
    picture = Image.new("RGB", (48, 48), tuple(random.randint(120, 256, 3).tolist()))
    r, (x, y) = random.randint(10, 18), random.randint(18, 30, 2)
    colour = tuple(random.randint(0, 110, 3).tolist())
    draw = ImageDraw.Draw(picture)
    if kind == "circle":
        draw.ellipse((x - r, y - r, x + r, y + r), fill=colour)
    elif kind == "cross":
        draw.rectangle((x - r, y - 3, x + r, y + 3), fill=colour)
        draw.rectangle((x - 3, y - r, x + 3, y + r), fill=colour)
    else:
        draw.polygon([(x, y - r), (x - r, y + r), (x + r, y + r)], fill=colour)
    return picture


for kind in ("circle", "cross", "triangle"):
    folder = Path("shapes", kind)
    folder.mkdir(parents=True, exist_ok=True)
    for k in range(60):
        drawn(kind).save(folder / f"{k}.png")

# %% [markdown]
# ## Augmentation
#
# In training each picture comes in another cut, mirrored or not, in other colours. `train_classifier` does that by
# itself; these are the transforms that it uses, to look at.

# %%
original = mx.image.imread("shapes/triangle/0.png")
varied = transforms.Compose(
    [
        transforms.RandomResizedCrop(48, scale=(0.4, 1.0)),
        transforms.RandomFlipLeftRight(),
        transforms.RandomColorJitter(0.2, 0.2, 0.2),
    ]
)
figure, axes = plt.subplots(1, 7, figsize=(9, 1.6))
for k, axis in enumerate(axes):
    axis.imshow((varied(original) if k else original).asnumpy().astype("uint8"))
    axis.set(title="varied" if k else "original", xticks=[], yticks=[])

# %% [markdown]
# ## Training
#
# A network of the zoo gets a new last layer for these classes. With `pretrained=True` it starts from published weights,
# the old layers learn at a tenth of the rate, and a few dozen pictures a class are enough. Weights are downloaded, which
# this page does without: a small network learns from nothing.

# %%
recipe = Recipe(epochs=6, batch_size=16, rate=4e-3, body_rate=1.0, freeze_norm=False, seed=1)
classifier, result = train_classifier(
    "shapes", "cifar_resnet20_v1", "shapes-classifier", pretrained=False, recipe=recipe, say=print
)
print(f"{result.accuracy:.1%} of the {len(result.labels)} pictures that were held out")
assert result.accuracy > 0.7

# %% [markdown]
# The folder `shapes-classifier` holds the network, checkpoints and `report.html` with curves, confusions and the worst
# mistakes. The same can be drawn by hand:

# %%
figure, (curves, matrix) = plt.subplots(1, 2, figsize=(9, 3.2))
for name in ("training loss", "validation accuracy"):
    key = name.replace(" ", "_")
    curves.plot([row[key] for row in classifier.history if key in row], label=name)
curves.set(xlabel="epoch")
curves.legend()
matrix.imshow(result.confusion, cmap="Blues")
for i, row in enumerate(result.confusion):
    for j, count in enumerate(row):
        shade = "white" if count > result.confusion.max() / 2 else "black"
        matrix.text(j, i, int(count), ha="center", va="center", color=shade)
ticks = range(len(result.classes))
matrix.set(xticks=ticks, yticks=ticks, xticklabels=result.classes, yticklabels=result.classes)
matrix.set(xlabel="taken for", ylabel="is")
figure.tight_layout()

# %% [markdown]
# ## Using it

# %%
again = PictureClassifier.load("shapes-classifier")
for name, probability in again.predict(["shapes/circle/0.png"])[0]:
    print(f"{name:10} {probability:.3f}")

# %% [markdown]
# ## To other programs
#
# `export` writes the graph and the parameters in MXNet's two files; `export_model` makes an ONNX file of them, which
# needs nothing of this project.

# %%
files = classifier.net.export("shapes")
mx.onnx.export_model(*files, [(1, 3, 32, 32)], onnx_file_path="shapes.onnx")

try:
    import onnxruntime
except ImportError:
    print("onnxruntime is not installed: pip install onnxruntime")
else:
    x = again.preprocessing("shapes/circle/0.png")
    (scores,) = onnxruntime.InferenceSession("shapes.onnx").run(None, {"data": x.asnumpy()})
    print(again.classes[scores.argmax()])

# %% [markdown]
# From a shell, the same is `gluon train classify --data shapes --model cifar_resnet20_v1 --folder shapes-classifier`,
# `gluon predict shapes-classifier PICTURE` and `gluon export shapes-classifier --onnx`.
