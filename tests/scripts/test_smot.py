"""Objects of a rendered video are followed, drawn and judged.

Figures are those of py-motmetrics 1.4.0 on the same boxes.
"""

import numpy as np
import pytest
from PIL import Image

from core import nd
from gluoncv.data.classes import COCO
from gluoncv.model_zoo import get_model
from scripts.tracking import clear_mot, smot_demo, smot_eval

NAMES = ("objects", "predictions", "matches", "misses", "false_positives", "switches", "tracks", "idtp")
JUDGED = {
    0: ((79, 88, 52, 27, 36, 19, 6, 19), {"MOTA": -0.0379746835, "IDF1": 0.2275449102, "IDR": 0.2405063291}),
    4: ((56, 57, 40, 16, 17, 18, 4, 19), {"MOTA": 0.0892857143, "IDF1": 0.3362831858, "IDR": 0.3392857143}),
}


def video(seed):
    """Truth and what a bad tracker finds: (frame, number, left, top, width, height)."""
    random = np.random.RandomState(seed)
    truth, found = [], []
    count = random.randint(2, 7)
    places, steps = random.rand(count, 2) * 80, random.randn(count, 2) * 3
    numbers, unused = list(range(count)), count
    for frame in range(15):
        places += steps
        for i in range(count):
            if random.rand() < 0.9:
                truth.append([frame, i, *places[i], 20, 30])
            if random.rand() < 0.1:
                numbers[i], unused = unused, unused + 1
            if random.rand() < 0.08:
                k = random.randint(count)
                numbers[i], numbers[k] = numbers[k], numbers[i]
            if random.rand() < 0.85:
                found.append([frame, numbers[i], *(places[i] + random.randn(2) * 4), 20, 30])
        if random.rand() < 0.4:
            found.append([frame, 1000 + random.randint(3), *(random.rand(2) * 100), 20, 30])
    return np.array(truth), np.array(found)


@pytest.mark.parametrize("seed", JUDGED)
def test_figures_are_those_of_motmetrics(seed):
    counts, figures = JUDGED[seed]
    total = clear_mot.counts(*video(seed))
    assert tuple(total[name] for name in NAMES) == counts
    found = clear_mot.figures(total)
    assert {name: found[name] for name in figures} == pytest.approx(figures, abs=1e-9)
    assert found["precision"] == pytest.approx(counts[2] / counts[1])


def test_videos_are_judged_together(tmp_path, capsys):
    for seed in JUDGED:
        for kind, rows in zip(("gt", "pred"), video(seed), strict=True):
            np.save(tmp_path / f"{kind}_{seed}.npy", rows)
    figures = smot_eval.main(["--gt-dir", str(tmp_path), "--pred-dir", str(tmp_path)])
    misses, false, switches = 27 + 16, 36 + 17, 19 + 18
    assert figures["MOTA"] == pytest.approx(1 - (misses + false + switches) / (79 + 56))
    assert "smot, 2 videos" in capsys.readouterr().out
    assert smot_eval.main(["--gt-dir", str(tmp_path), "--pred-dir", str(tmp_path), "--num-worker", "2"]) == figures
    truth, _ = video(0)
    perfect = clear_mot.figures(clear_mot.counts(truth, truth))
    assert perfect["MOTA"] == perfect["IDF1"] == perfect["F1"] == 1
    with pytest.raises(SystemExit, match="no pred_NAME"):
        smot_eval.main(["--gt-dir", str(tmp_path), "--pred-dir", str(tmp_path / "none")])


def test_the_demo_draws(tmp_path):
    net = get_model("ssd_300_mobilenet0.25_coco", pretrained_base=False)
    net.initialize()
    net(nd.zeros((1, 3, 64, 64)))
    net.save_parameters(str(tmp_path / "net.params"))
    (tmp_path / "video").mkdir()
    for k in range(2):
        picture = np.zeros((40, 60, 3), "uint8")
        picture[10:20, 10 + 4 * k : 30 + 4 * k] = 200
        Image.fromarray(picture).save(tmp_path / f"video/{k}.png")
    given = [
        str(tmp_path / "video"),
        "--network-name",
        "ssd_300_mobilenet0.25_coco",
        "--param-path",
        str(tmp_path / "net.params"),
    ]
    given += ["--data-shape", "64", "--detect-thresh", "0", "--track-thresh", "0", "--custom-classes", *COCO, "--eval"]
    rows = smot_demo.main([*given, "--save-path", str(tmp_path / "out")])
    assert rows.shape[1] == 10 and set(rows[:, 0]) == {0, 1}
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "pred.npy"), rows)
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"pred.npy", "output_00000.jpg", "output_00001.jpg"}
