"""The demos name what is in real pictures, and draw what a detector finds."""

import numpy as np
from PIL import Image

from scripts.image_classification import demo as classify
from scripts.object_detection import demo as detect


def test_five_likeliest_classes(data, weights, tmp_path, capsys):
    pictures = sorted((data / "imagenet_samples" / "images").glob("*"))[:3]
    found = classify.main(
        ["--model", "mobilenetv2_1.0", "--pretrained", str(weights / "mobilenetv2_1.0_coral.params"), "--turned"]
        + ["--classes", str(data / "imagenet_samples" / "synset.txt"), "--input-pic", *map(str, pictures)]
        + ["--save-dir", str(tmp_path)]
    )
    with np.load(weights / "mobilenetv2_1.0_coral.expected.npz") as expected:
        top5 = expected["top5"][:3]
    names = [line.split(None, 1)[1] for line in (data / "imagenet_samples" / "synset.txt").read_text().splitlines()]
    listed = [line.split("\t") for line in (data / "imagenet_samples" / "samples.lst").read_text().splitlines()[:3]]
    assert [p.name for p in pictures] == [path.split("/")[-1] for *_, path in listed]
    for five, want in zip(found, top5, strict=True):
        assert five[0][0] == names[want[0]] and len({name for name, _ in five} & {names[k] for k in want}) >= 4
    assert "%" in capsys.readouterr().out
    for path in pictures:
        with Image.open(path) as before, Image.open(tmp_path / f"{path.stem}.png") as after:
            width, height = before.size
            assert after.size[0] == width and after.size[1] > height
            written = np.array(after)[height:]
            assert written.max() > 200 and (written > 0).mean() < 0.5  # letters on black


def test_detections_are_drawn(data, tmp_path):
    from gluoncv.model_zoo import get_model

    net = get_model("ssd_512_mobilenet1.0_custom", classes=["a", "b"], pretrained_base=False)
    net.initialize()
    from core import nd

    net(nd.zeros((1, 3, 128, 128)))
    net.save_parameters(str(tmp_path / "net.params"))
    found = detect.main(
        ["--network", "ssd_512_mobilenet1.0_custom", "--classes", "a,b", "--pretrained", str(tmp_path / "net.params")]
        + ["--images", str(data / "demo" / "dog.jpg"), "--short", "128", "--threshold", "0.01"]
        + ["--save-dir", str(tmp_path / "out")]
    )
    assert (tmp_path / "out" / "dog.png").stat().st_size > 1000
    assert all(name in ("a", "b") and score >= 0.01 for name, score in found[0])
