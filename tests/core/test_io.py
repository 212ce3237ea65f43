"""`mx.io` against recorded answers and against MXNet's own iterators on the same files."""

import inspect
import json
import struct
import subprocess
import sys
import warnings

import numpy as np
import pytest

import core as mx
from core.base import MXNetError
from core.image import codec
from core.io import file_iters
from core.recordio import IRHeader, MXIndexedRecordIO, pack
from tests.support.places import by_id, recorded, run_program


@pytest.mark.parametrize("case", by_id([case for case in recorded("io") if "NDArrayIter" in case["id"]]))
def test_recorded_passes(case):
    values = case["values"]
    iterator = mx.io.NDArrayIter(
        values["data"], values["label"], case["batch_size"], last_batch_handle=case["last_batch_handle"]
    )
    for run in case["runs"]:
        batches = list(iterator)
        assert [batch.pad for batch in batches] == [batch["pad"] for batch in run["batches"]]
        for i, batch in enumerate(batches):
            for key, arrays in (("data0", batch.data), ("label0", batch.label)):
                want = values[f"epoch{run['epoch']}:{key}:{i}"]
                np.testing.assert_array_equal(arrays[0].asnumpy(), want, strict=True)
        iterator.reset()
    assert [list(d) for d in iterator.provide_data] == [["data", (3, 2)]]


def visit(mx, name, kwargs, passes=2):
    """What an iterator gives: for each pass the batches as [data, its dtype, label, pad]. Runs in MXNet as well."""
    kwargs = {key: tuple(value) if isinstance(value, list) else value for key, value in kwargs.items()}
    iterator, result = getattr(mx.io, name)(**kwargs), []
    for _ in range(passes):
        batches = []
        for batch in iterator:
            data, label = batch.data[0], batch.label[0]
            data, label = (a.asnumpy() if hasattr(a, "asnumpy") else a.dense() for a in (data, label))
            batches.append([data.tolist(), str(data.dtype), label.tolist(), batch.pad])
        result.append(batches)
        iterator.reset()
    return result


FILES = ("data.csv", "label.csv", "data.libsvm", "images", "labels", "x.rec", "two.rec", "boxes.rec")
CSV = {"data_csv": "data.csv", "data_shape": [6]}
RECORDS = {"path_imgrec": "x.rec", "preprocess_threads": 1, "prefetch_buffer": 1}
BOXES = {**RECORDS, "path_imgrec": "boxes.rec", "batch_size": 3, "verbose": False}
CASES = [
    ("CSVIter", {**CSV, "batch_size": 2, "label_csv": "label.csv"}),
    ("CSVIter", {**CSV, "batch_size": 3, "label_csv": "label.csv", "round_batch": False}),
    ("CSVIter", {**CSV, "batch_size": 3, "dtype": "int32"}),
    ("CSVIter", {**CSV, "batch_size": 8, "data_shape": [2, 3]}),
    ("LibSVMIter", {"data_libsvm": "data.libsvm", "data_shape": [3], "batch_size": 3}),
    ("LibSVMIter", {"data_libsvm": "data.libsvm", "data_shape": [3], "batch_size": 1, "num_parts": 2, "part_index": 1}),
    ("MNISTIter", {"image": "images", "label": "labels", "batch_size": 3, "shuffle": False, "silent": True}),
    ("MNISTIter", {"image": "images", "label": "labels", "batch_size": 2, "shuffle": False, "flat": True, "silent": True}),
    ("ImageRecordIter", {**RECORDS, "batch_size": 2, "data_shape": [3, 8, 8]}),
    ("ImageRecordIter", {**RECORDS, "batch_size": 5, "data_shape": [1, 6, 5], "resize": 7, "inter_method": 2}),
    ("ImageRecordIter", {**RECORDS, "batch_size": 5, "data_shape": [3, 16, 16], "mirror": True}),
    ("ImageRecordIter", {**RECORDS, "batch_size": 5, "data_shape": [3, 12, 12], "pad": 3, "fill_value": 7}),
    ("ImageRecordIter", {**RECORDS, "batch_size": 5, "data_shape": [3, 8, 8], "rotate": 30}),
    ("ImageRecordIter", {**RECORDS, "batch_size": 5, "data_shape": [3, 8, 8], "max_crop_size": 6, "min_crop_size": 6}),
    ("ImageRecordIter", {**RECORDS, "batch_size": 5, "data_shape": [3, 8, 8], "max_img_size": 9, "min_img_size": 9}),
    ("ImageRecordIter", {**RECORDS, "batch_size": 2, "data_shape": [3, 8, 8], "num_parts": 2, "part_index": 1}),
    ("ImageRecordIter", {**RECORDS, "batch_size": 3, "data_shape": [3, 8, 8], "path_imgrec": "two.rec", "label_width": 2}),
    ("ImageRecordUInt8Iter", {**RECORDS, "batch_size": 5, "data_shape": [3, 8, 8]}),
    ("ImageRecordInt8Iter", {**RECORDS, "batch_size": 5, "data_shape": [3, 8, 8]}),
    (
        "ImageRecordIter",
        {**RECORDS, "batch_size": 5, "data_shape": [3, 6, 5], "mean_r": 10, "mean_g": 20, "std_g": 3, "std_b": 4, "scale": 0.5},
    ),
    ("ImageDetRecordIter", {**BOXES, "data_shape": [3, 8, 8]}),
    ("ImageDetRecordIter", {**BOXES, "data_shape": [3, 8, 8], "label_pad_width": 30, "label_pad_value": -5}),
    ("ImageDetRecordIter", {**BOXES, "data_shape": [3, 12, 12], "resize": 6, "resize_mode": "shrink"}),
    ("ImageDetRecordIter", {**BOXES, "data_shape": [3, 40, 40], "resize_mode": "fit", "rand_mirror_prob": 1.0}),
    ("ImageDetRecordIter", {**BOXES, "data_shape": [3, 8, 8], "mean_r": 1, "mean_b": 3, "std_r": 2, "scale": 0.5}),
    ("ImageDetRecordIter", {**BOXES, "data_shape": [3, 12, 12], "resize_mode": "fit", "mean_r": 10, "std_g": 2}),
    ("ImageRecordIter", {**RECORDS, "batch_size": 5, "data_shape": [3, 24, 11], "inter_method": 9}),
    ("ImageRecordIter", {**RECORDS, "batch_size": 5, "data_shape": [3, 8, 8], "random_resized_crop": True}),
]  # fmt: skip


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Small files of every kind."""
    path, rng = tmp_path_factory.mktemp("iterators"), np.random.default_rng(0)
    np.savetxt(path / "data.csv", np.arange(42).reshape(7, 6), delimiter=",", fmt="%g")
    np.savetxt(path / "label.csv", np.arange(7), fmt="%g")
    (path / "data.libsvm").write_text("1.0 0:0.5 2:1.25\n-2.0\n-3.0 0:0.5 1:2.5 2:1.25\n4 2:-1.25\n5 1:3\n")
    pixels = rng.integers(0, 256, (7, 5, 4), dtype=np.uint8)
    (path / "images").write_bytes(struct.pack(">IIII", 2051, 7, 5, 4) + pixels.tobytes())
    (path / "labels").write_bytes(struct.pack(">II", 2049, 7) + bytes(range(7)))
    for name, labels in (("x", range(5)), ("two", [[i, i + 0.5] for i in range(5)])):
        with MXIndexedRecordIO(path / f"{name}.idx", path / f"{name}.rec", "w") as writer:
            for i, size in enumerate([(10, 12), (12, 10), (8, 8), (20, 15), (9, 30)]):
                image = rng.integers(0, 256, (*size, 3), dtype=np.uint8)
                writer.write_idx(i, pack(IRHeader(0, labels[i], i, 0), codec.encode(image, ".png", 9)))
    with MXIndexedRecordIO(path / "boxes.idx", path / "boxes.rec", "w") as writer:
        for i, size in enumerate([(10, 10), (10, 16), (20, 12)]):
            label = [2, 5] + [n for k in range(i + 1) for n in (k, 0.1 + 0.1 * k, 0.2, 0.5 + 0.1 * k, 0.7)]
            image = rng.integers(0, 256, (*size, 3), dtype=np.uint8)
            writer.write_idx(i, pack(IRHeader(0, label, i, 0), codec.encode(image, ".png", 9)))
    return path


def placed(kwargs, folder):
    return {key: str(folder / value) if value in FILES else value for key, value in kwargs.items() if value is not None}


@pytest.fixture(scope="session")
def of_mxnet(folder, mxnet_python):
    """What MXNet's iterators give for every case."""
    cases = [(name, placed(kwargs, folder)) for name, kwargs in CASES]
    program = "import json, sys, mxnet as mx\n" + inspect.getsource(visit)
    program += "print(json.dumps([visit(mx, *case) for case in json.loads(sys.argv[1])]))"
    return json.loads(run_program(mxnet_python, program, json.dumps(cases)).splitlines()[-1])


@pytest.mark.mxnet
@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{i}-{name}" for i, (name, _) in enumerate(CASES)])
def test_the_same_batches_as_mxnet(number, of_mxnet, folder, monkeypatch):
    name, kwargs = CASES[number]
    monkeypatch.setattr(file_iters, "to_csr", lambda rows: rows)
    for i, (got, want) in enumerate(zip(visit(mx, name, placed(kwargs, folder)), of_mxnet[number], strict=True)):
        assert [dtype for _, dtype, _, _ in got] == [dtype for _, dtype, _, _ in want]
        if i == 0 or "Image" not in name:  # later passes of MXNet's image iterators may show the pad of another batch
            assert [pad for *_, pad in got] == [pad for *_, pad in want]
        for ours, theirs in zip(got, want):
            np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5, atol=1e-4)
            np.testing.assert_allclose(ours[2], theirs[2], rtol=1e-6)


# ---------------------------------------------------------------- arrays in memory


def test_lists_and_dictionaries_of_arrays():
    iterator = mx.io.NDArrayIter({"a": np.zeros((4, 2)), "b": np.ones((4, 3))}, [np.arange(4), np.arange(4)], 2)
    assert [d.name for d in iterator.provide_data] == ["a", "b"]
    assert [d.name for d in iterator.provide_label] == ["_0_softmax_label", "_1_softmax_label"]
    batch = iterator.next()
    assert [array.shape for array in batch.data] == [(2, 2), (2, 3)] and str(batch).startswith("DataBatch: data shapes")


def test_labels_of_samples_that_the_data_lack_are_left_out():
    iterator = mx.io.NDArrayIter(np.arange(4), {"label": np.arange(7), "weight": np.arange(5)}, 2)
    labels = [[array.asnumpy().tolist() for array in batch.label] for batch in iterator]
    assert labels == [[[0, 1], [0, 1]], [[2, 3], [2, 3]]]


def test_shuffling_keeps_data_and_labels_together():
    np.random.seed(0)
    iterator = mx.io.NDArrayIter(np.arange(10), np.arange(10) * 2, 5, shuffle=True)
    passes = []
    for _ in range(2):
        pairs = [(b.data[0].asnumpy(), b.label[0].asnumpy()) for b in iterator]
        assert all((label == data * 2).all() for data, label in pairs)
        passes.append(np.concatenate([data for data, _ in pairs]).tolist())
        iterator.reset()
    assert sorted(passes[0]) == sorted(passes[1]) == list(range(10)) and passes[0] != passes[1]


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="unknown last_batch_handle 'wrap'"):
        mx.io.NDArrayIter(np.zeros(3), last_batch_handle="wrap")
    with pytest.raises(ValueError, match=r"softmax_label.*2 samples.*3"):
        mx.io.NDArrayIter(np.zeros(3), np.zeros(2))
    with pytest.raises(ValueError, match="data is empty"):
        mx.io.NDArrayIter([])
    with pytest.raises(TypeError, match="'data' is a str"):
        mx.io.NDArrayIter("text")


def test_arrays_of_an_iterator_are_ndarrays_of_its_own():
    source = np.arange(4, dtype="float32")
    iterator = mx.io.NDArrayIter(source, {"y": mx.nd.arange(4, dtype="int32")}, 2)
    source[:] = 9
    ((name, data),), ((_, label),) = iterator.data, iterator.label
    assert name == "data" and data.asnumpy().tolist() == [0, 1, 2, 3] and label.dtype == np.int32
    data[:2] = 7
    assert iterator.next().data[0].asnumpy().tolist() == [7, 7]


def test_resize_iter_begins_anew():
    iterator = mx.io.ResizeIter(mx.io.NDArrayIter(np.arange(4), batch_size=2), 3)
    for _ in range(2):
        assert [batch.data[0].asnumpy().tolist() for batch in iterator] == [[0, 1], [2, 3], [0, 1]]
        iterator.reset()


def test_prefetching_iter_joins_and_renames():
    one, two = mx.io.NDArrayIter(np.arange(4), np.arange(4), 2), mx.io.NDArrayIter(np.arange(4) * 10, batch_size=2)
    iterator = mx.io.PrefetchingIter([one, two], [{"data": "a"}, {"data": "b"}], [{"softmax_label": "l"}, {}])
    assert [d.name for d in iterator.provide_data + iterator.provide_label] == ["a", "b", "l"]
    for _ in range(3):
        got = [[array.asnumpy().tolist() for array in batch.data] for batch in iterator]
        assert got == [[[0, 1], [0, 10]], [[2, 3], [20, 30]]]
        iterator.reset()


def test_programs_end_in_the_middle_of_a_pass(folder):
    program = (
        "import sys, numpy as np, core as mx\n"
        "one = mx.io.PrefetchingIter(mx.io.NDArrayIter(np.zeros((100, 2)), batch_size=2))\n"
        "two = mx.io.ImageRecordIter(sys.argv[1], (3, 6, 6), 2)\n"
        "one.next(), two.next()"
    )
    run = subprocess.run([sys.executable, "-c", program, str(folder / "x.rec")], capture_output=True, timeout=60)
    assert run.returncode == 0 and not run.stderr, run.stderr


@pytest.mark.parametrize("error", [MXNetError("broken"), SystemExit("broken")])
def test_prefetching_iter_hands_errors_on(error):
    class Broken(mx.io.DataIter):
        provide_data, provide_label = [mx.io.DataDesc("data", (1, 1))], []

        def next(self):
            raise error

    with pytest.raises(type(error), match="broken"):
        mx.io.PrefetchingIter(Broken()).next()


def test_descriptions_are_pairs():
    description = mx.io.DataDesc("data", (2, 3), "float16", "NTC")
    assert description == ("data", (2, 3)) and mx.io.DataDesc.get_batch_axis("TNC") == 1
    assert mx.io.DataDesc.get_list([("a", (1,))], [("a", "int8")])[0].dtype == "int8"


# ---------------------------------------------------------------- files


def test_record_iter_shuffles_by_its_seed_whatever_the_threads(folder):
    def run(threads, **more):
        iterator = mx.io.ImageRecordIter(
            str(folder / "x.rec"), (3, 6, 6), 2, preprocess_threads=threads, shuffle=True, rand_crop=True, **more
        )
        result = []
        for _ in range(2):
            result += [(b.data[0].asnumpy().tolist(), b.label[0].asnumpy().tolist()) for b in iterator]
            iterator.reset()
        return result

    assert run(1, seed=5, rand_mirror=True) == run(3, seed=5, rand_mirror=True) != run(1, seed=6, rand_mirror=True)


def test_every_random_setting_gives_images_of_the_right_shape(folder):
    settings = {
        "random_resized_crop": {"random_resized_crop": True, "min_random_area": 0.1, "max_aspect_ratio": 0.25},
        "warp": {"max_rotate_angle": 20, "max_shear_ratio": 0.1, "max_random_scale": 1.5, "min_random_scale": 0.8},
        "colours": {
            "random_h": 20,
            "random_s": 40,
            "random_l": 40,
            "pca_noise": 0.1,
            "brightness": 0.3,
            "contrast": 0.3,
        },
        "light": {"max_random_contrast": 0.3, "max_random_illumination": 10, "saturation": 0.3},
    }
    for kwargs in settings.values():
        iterator = mx.io.ImageRecordIter(str(folder / "x.rec"), (3, 6, 6), 5, **kwargs)
        data = iterator.next().data[0].asnumpy()
        assert data.shape == (5, 3, 6, 6) and np.isfinite(data).all() and data.std() > 5


def test_hue_lightness_saturation_return_when_nothing_moves():
    from core.io.recipe import shift_hls

    image = np.random.default_rng(0).integers(0, 256, (9, 9, 3), dtype=np.uint8)
    assert np.abs(shift_hls(image, [0, 0, 0]).astype(int) - image).max() <= 3


def test_boxes_stay_on_their_objects(tmp_path):
    """A white box on black ground is found where the label says, whatever was cut, padded and mirrored."""
    image = np.zeros((60, 80, 3), np.uint8)
    image[15:45, 20:60] = 255
    record = pack(IRHeader(0, [2, 5, 7, 0.25, 0.25, 0.75, 0.75], 0, 0), codec.encode(image, ".png", 1))
    with MXIndexedRecordIO(tmp_path / "b.idx", tmp_path / "b.rec", "w") as writer:
        for i in range(20):
            writer.write_idx(i, record)
    settings = {"rand_crop_prob": 1, "min_crop_scales": 0.4, "min_crop_object_coverages": 0.6, "rand_mirror_prob": 0.5}
    settings |= {"rand_pad_prob": 0.5, "max_pad_scale": 2, "fill_value": 0, "max_random_contrast": 0.0, "seed": 3}
    settings |= {"min_crop_aspect_ratios": 0.5, "max_crop_aspect_ratios": 2}
    batch = mx.io.ImageDetRecordIter(str(tmp_path / "b.rec"), (3, 100, 100), 20, **settings).next()
    images, labels = batch.data[0].asnumpy(), batch.label[0].asnumpy()
    assert labels.shape == (20, 11) and len(np.unique(labels[:, 7])) > 10
    for image, label in zip(images, labels):
        assert label[:7].tolist() == [3, 100, 100, 7, 2, 5, 7]
        rows, columns = np.nonzero(image[0] > 127)
        found = np.array([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]) / 100
        np.testing.assert_allclose(label[7:], found, atol=0.04)


@pytest.fixture
def pictures(tmp_path):
    """Writes a file of records with these labels, one noisy picture of 40 x 60; says its name."""
    noise = np.random.default_rng(0).integers(30, 200, (40, 60, 3), dtype=np.uint8)

    def write(labels):
        with MXIndexedRecordIO(tmp_path / "p.idx", tmp_path / "p.rec", "w") as writer:
            for i, label in enumerate(labels):
                writer.write_idx(i, pack(IRHeader(0, label, 100 + i, 0), codec.encode(noise, ".png", 1)))
        return str(tmp_path / "p.rec"), noise.transpose(2, 0, 1).astype(np.float32)

    return write


def test_an_image_list_replaces_labels(folder, pictures, tmp_path):
    (tmp_path / "x.lst").write_text("".join(f"{i}\t{i * 100}\t{i}.png\n" for i in range(5)))
    iterator = mx.io.ImageRecordIter(str(folder / "x.rec"), (3, 6, 6), 5, path_imglist=str(tmp_path / "x.lst"))
    assert iterator.next().label[0].asnumpy().tolist() == [0, 100, 200, 300, 400]
    (tmp_path / "wide.lst").write_text("101\t7\t8\ta.png\n100\t5\t6\tb.png\n")
    batch = mx.io.ImageRecordIter(pictures([0, 0])[0], (3, 6, 6), 2, path_imglist=str(tmp_path / "wide.lst")).next()
    assert batch.label[0].asnumpy().tolist() == [5, 7] and batch.index.tolist() == [100, 101]


def test_sampled_areas_are_those_of_mxnet(pictures):
    """Observed in MXNet 1.9.1: what nothing asks for or what does not fit is the middle; windows lie or stand."""
    name, image = pictures([0] * 12)
    middle = image[:, 14:26, 24:36]

    def run(batch_size=12, **settings):
        iterator = mx.io.ImageRecordIter(name, (3, 12, 12), batch_size, random_resized_crop=True, **settings)
        return iterator.next().data[0].asnumpy()

    for settings in ({}, {"min_aspect_ratio": 1.0, "max_aspect_ratio": 1.0}, {"max_aspect_ratio": 0.1}):
        np.testing.assert_array_equal(run(1, **settings)[0], middle)
    whole = mx.image.imresize(mx.nd.array(image.transpose(1, 2, 0), dtype="uint8"), 12, 12, 1).asnumpy()
    lying = run(min_aspect_ratio=1.5, max_aspect_ratio=1.5)
    standing = run(min_aspect_ratio=1 / 1.5, max_aspect_ratio=1 / 1.5)
    for images in (lying, standing):
        np.testing.assert_array_equal(images, np.stack([whole.transpose(2, 0, 1)] * 12))
    with pytest.raises(MXNetError, match="rand_crop"):
        run(rand_crop=True)
    with pytest.raises(MXNetError, match="min_random_area 0"):
        run(min_random_area=0.5, max_random_area=0.25)


def test_small_images_grow_by_the_method_of_the_whole_change(pictures):
    """40 x 60 to 70 x 48 is no enlargement of both: MXNet interpolates linearly by `inter_method` 9."""
    name, _ = pictures([0])
    auto, linear, cubic = (
        mx.io.ImageRecordIter(name, (3, 70, 48), 1, inter_method=method).next().data[0].asnumpy()
        for method in (9, 1, 2)
    )
    assert (auto == linear).all() and (auto != cubic).any()


def test_contrast_and_saturation_weigh_red_as_blue(pictures):
    """Both leave the luma alone that takes red for blue, as MXNet's do; in detection contrast multiplies."""
    name, image = pictures([0])
    luma = np.array([0.114, 0.587, 0.299])
    for settings in ({"contrast": 0.3}, {"saturation": 0.3}):
        changed = mx.io.ImageRecordIter(name, (3, 40, 60), 1, seed=3, **settings).next().data[0].asnumpy()[0]
        assert np.abs(changed - image).max() > 5
        assert abs(np.tensordot(luma, changed - image, 1).mean()) < 0.1
    settings = {"max_random_contrast": 0.2, "random_contrast_prob": 1, "seed": 1}
    changed = mx.io.ImageDetRecordIter(pictures([[2, 5, 0, 0, 0, 1, 1]])[0], (3, 40, 60), 1, **settings).next()
    factor = changed.data[0].asnumpy()[0] / image
    assert np.ptp(factor) < 1.1 / 30 and abs(factor.mean() - 1) > 0.01


def test_detection_normalises_the_black_that_it_leaves(pictures):
    name, image = pictures([[2, 5, 0, 0, 0, 1, 1]])
    settings = {"resize_mode": "shrink", "mean_r": 10, "mean_g": 20, "std_r": 2, "scale": 0.5}
    batch = mx.io.ImageDetRecordIter(name, (3, 50, 60), 1, **settings).next()
    data = batch.data[0].asnumpy()[0]
    assert (data[:, 40:] == np.array([-2.5, -10, 0])[:, None, None]).all()
    np.testing.assert_allclose(data[0, :40], (image[0] - 10) / 4)
    assert batch.label[0].asnumpy()[0, :4].tolist() == [3, 40, 60, 7]


def test_padded_objects_move_by_shares(pictures):
    """The window is cut and the border laid by whole pixels towards zero, the labels by exact shares."""
    name, image = pictures([[2, 5, 0, 0.25, 0.25, 0.75, 0.5]] * 8)
    settings = {"rand_pad_prob": 1, "max_pad_scale": 1.5, "resize_mode": "shrink", "fill_value": 0, "seed": 2}
    batch = mx.io.ImageDetRecordIter(name, (3, 70, 100), 8, **settings).next()
    for data, label in zip(batch.data[0].asnumpy(), batch.label[0].asnumpy()):
        height, width = label[1:3]
        scale = 0.5 / (label[9] - label[7])
        top, left = (np.nonzero(data.max(axis))[0][0] for axis in ((0, 2), (0, 1)))
        share = label[7] * scale - 0.25, label[8] * scale - 0.25
        assert (left, top) == (int(share[0] * 60), int(share[1] * 40))
        behind, below = (int(round((scale - 1 - s) * extent, 3)) for s, extent in zip(share, (60, 40)))
        assert (width, height) == (left + 60 + behind, top + 40 + below)
        np.testing.assert_array_equal(data[:, top : top + 40, left : left + 60], image)


def test_damaged_files_name_themselves(folder, tmp_path):
    data = bytearray((folder / "x.rec").read_bytes())
    data[60:70] = bytes(10)
    (tmp_path / "bad.rec").write_bytes(data)
    with pytest.raises(MXNetError, match=r"bad\.rec.*record at byte 0.*(no image|cannot be decoded)"):
        mx.io.ImageRecordIter(str(tmp_path / "bad.rec"), (3, 6, 6), 2).next()
    (tmp_path / "bad.csv").write_text("1,2\n3,x\n")
    with pytest.raises(MXNetError, match=r"bad\.csv.*'x'"):
        mx.io.CSVIter(data_csv=str(tmp_path / "bad.csv"), data_shape=(2,), batch_size=1)
    (tmp_path / "bad.libsvm").write_text("1 0:1\n1 7:1\n")
    with pytest.raises(MXNetError, match=r"bad\.libsvm', line 2: an index outside 0\.\.2"):
        mx.io.LibSVMIter(str(tmp_path / "bad.libsvm"), (3,), 1)
    (tmp_path / "bad.idx").write_bytes(struct.pack(">IIII", 2051, 1 << 30, 28, 28))
    with pytest.raises(MXNetError, match=r"bad\.idx.*needs"):
        mx.io.MNISTIter(str(tmp_path / "bad.idx"), str(folder / "labels"))


def test_unknown_arguments_are_named_with_the_nearest(folder):
    with pytest.warns(UserWarning, match=r"'rand_mirorr'\. Did you mean 'rand_mirror'"):
        mx.io.ImageRecordIter(str(folder / "x.rec"), (3, 6, 6), 2, rand_mirorr=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mx.io.ImageRecordIter(str(folder / "x.rec"), (3, 6, 6), 2, verbose=False)
        mx.io.MNISTIter(str(folder / "images"), str(folder / "labels"), 2, data_shape=(28, 28))


def test_mnist_is_shuffled_once(tmp_path):
    for name, array in (("images", np.zeros((40, 1, 1), np.uint8)), ("labels", np.arange(40, dtype=np.uint8))):
        head = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
        (tmp_path / name).write_bytes(head + array.tobytes())
    batches = mx.io.MNISTIter(str(tmp_path / "images"), str(tmp_path / "labels"), batch_size=20, shuffle=True, seed=1)
    passes = []
    for _ in range(2):
        passes.append([label for batch in batches for label in batch.label[0].asnumpy().tolist()])
        batches.reset()
    assert passes[0] == passes[1] != sorted(passes[0]) == list(range(40))


def test_a_mean_image_that_is_not_there_is_made(tmp_path):
    record, mean = str(tmp_path / "a.rec"), str(tmp_path / "mean.bin")
    pictures = np.random.RandomState(0).randint(0, 255, (5, 8, 8, 3), "uint8")
    writer = mx.recordio.MXRecordIO(record, "w")
    for i, picture in enumerate(pictures):
        writer.write(mx.recordio.pack_img(mx.recordio.IRHeader(0, i, i, 0), picture, img_fmt=".png"))
    writer.close()
    made = mx.io.ImageRecordIter(path_imgrec=record, data_shape=(3, 8, 8), batch_size=5, mean_img=mean)
    expected = pictures[..., ::-1].transpose(0, 3, 1, 2).astype("float32")
    np.testing.assert_allclose(mx.nd.load(mean)["mean_img"].asnumpy(), expected.mean(0), rtol=1e-6)
    np.testing.assert_allclose(next(made).data[0].asnumpy(), expected - expected.mean(0), atol=1e-4)


def test_matrices_of_scipy_are_sparse_data():
    sparse = pytest.importorskip("scipy.sparse")
    rows = np.random.RandomState(0).rand(5, 4).astype("float32") * (np.arange(4) % 2)
    with pytest.raises(NotImplementedError):
        mx.io.NDArrayIter(sparse.csr_matrix(rows), batch_size=2)
    batches = list(mx.io.NDArrayIter(sparse.csr_matrix(rows), batch_size=2, last_batch_handle="discard"))
    assert [b.data[0].stype for b in batches] == ["csr", "csr"]
    np.testing.assert_array_equal(batches[1].data[0].asnumpy(), rows[2:4])


def test_ndarray_iter_counts_its_sources_and_refuses_empty_batches():
    rows = np.zeros((4, 2))
    iterator = mx.io.NDArrayIter(rows, rows, 2)
    assert iterator.num_source == 2
    iterator.data_list[1][:] = 7  # a program that changes its labels while it learns
    assert next(iterator).label[0].asnumpy().min() == 7
    with pytest.raises(ValueError, match="batch_size"):  # a pass of which would never end
        mx.io.NDArrayIter(rows, rows, 0)


def test_an_iterator_of_noise_alone_defines_two_methods():
    """The generator's input of MXNet's examples of GANs: no labels, nothing that fills up, no end."""

    class Noise(mx.io.DataIter):
        def iter_next(self):
            return True

        def getdata(self):
            return [mx.nd.ones((2, 3))]

    batch = Noise(2).next()
    assert batch.data[0].shape == (2, 3)
    assert batch.label is None and batch.pad is None and batch.index is None
