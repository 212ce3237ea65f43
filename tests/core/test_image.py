"""`mx.image` against recorded answers, MXNet's own resizing and decoding, and hand-made boxes."""

import io
import json
import random
import struct
import zlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import core as mx
from core import image, recordio, resample
from core.base import MXNetError
from core.image import codec, detection
from core.recordio import IRHeader, MXIndexedRecordIO, pack
from tests.support.mutations import bounded_memory, mutated, survives
from tests.support.places import REFERENCE, by_id, recorded, run_program

RNG = np.random.default_rng(0)
PICTURE = RNG.integers(0, 256, (10, 12, 3), dtype=np.uint8)


def expressions():
    """The recorded expressions that use `mx.image` alone."""
    path = REFERENCE / "mxnet_ops" / "nd_image.json"
    if not path.is_file():
        return []
    arrays = np.load(path.with_suffix(".npz"))
    cases = [case for case in json.loads(path.read_text())["cases"] if case["id"].startswith("nd_image/mx_image")]
    for case in cases:
        prefix = case["id"] + "|"
        case["values"] = {key[len(prefix) :]: arrays[key] for key in arrays.files if key.startswith(prefix)}
    return cases


@pytest.mark.parametrize("case", by_id(expressions()))
def test_recorded_expressions(case):
    scope = {
        "mx": mx,
        **{k[3:]: mx.nd.array(v, dtype=v.dtype) for k, v in case["values"].items() if k.startswith("in:")},
    }
    result = eval(case["expr"], scope)
    flat = [result[0], *result[1]] if isinstance(result, tuple) and isinstance(result[1], tuple) else result
    for got, want in zip(flat if isinstance(flat, (list, tuple)) else [flat], case["outputs"], strict=True):
        if "array" not in want:
            assert got == want["value"]
            continue
        expected = case["values"][want["array"]]
        assert got.dtype == expected.dtype and got.shape == expected.shape
        np.testing.assert_allclose(got.asnumpy(), expected, rtol=1e-4, atol=1e-3 if expected.dtype.kind == "f" else 0)


@pytest.mark.parametrize("case", by_id(recorded("image")))
def test_recorded_pictures(case):
    path = case["folder"] / case["file"]
    for key, kwargs in (("imread_rgb", {}), ("imread_gray", {"flag": 0}), ("imread_bgr", {"to_rgb": False})):
        got = mx.image.imread(str(path), **kwargs).asnumpy()
        want = case["values"][key]
        assert got.shape == want.shape and np.abs(got.astype(int) - want).max() <= 3  # JPEG decoders round differently


RESIZE = """
import sys, numpy as np, mxnet as mx
given, out = np.load(sys.argv[1]), {}
for name in given.files:
    height, width, interp = [int(part) for part in name.split('_')[1:]]
    x = given[name]
    out[name] = mx.image.imresize(mx.nd.array(x, dtype=x.dtype), width, height, interp).asnumpy()
np.savez(sys.argv[2], **out)
"""


@pytest.mark.mxnet
def test_resizing_is_that_of_mxnet(tmp_path, mxnet_python):
    given = {}
    for rows, columns in ((5, 6), (17, 23), (64, 48), (1, 7)):
        for height, width in ((4, 3), (9, 8), (32, 24), (15, 15), (50, 75)):
            for interp in range(5):
                for dtype in ("uint8", "float32"):
                    image = (RNG.random((rows, columns, 3)) * 255).astype(dtype)
                    given[f"{len(given)}_{height}_{width}_{interp}"] = image
    np.savez(tmp_path / "given.npz", **given)
    run_program(mxnet_python, RESIZE, tmp_path / "given.npz", tmp_path / "out.npz")
    out = np.load(tmp_path / "out.npz")
    for name, image in given.items():
        height, width, interp = (int(part) for part in name.split("_")[1:])
        got = resample.resize(image, width, height, interp)
        assert got.dtype == image.dtype
        np.testing.assert_allclose(got, out[name], rtol=0, atol=0 if image.dtype == np.uint8 else 1e-3, err_msg=name)


DECODE = """
import sys, numpy as np, mxnet as mx
out = {}
for path in sys.argv[2:]:
    for flag in (0, 1):
        out[path.split('/')[-1] + str(flag)] = mx.image.imread(path, flag=flag).asnumpy()
np.savez(sys.argv[1], **out)
"""


@pytest.mark.mxnet
def test_decoding_is_that_of_mxnet(tmp_path, mxnet_python):
    from PIL import Image

    smooth = np.add.outer(np.arange(20) * 5, np.arange(31) * 4)[..., None] % 256 + np.array([0, 60, 120])
    picture = Image.fromarray((smooth % 256).astype(np.uint8))
    exif = Image.Exif()
    exif[0x0112] = 6
    picture.save(tmp_path / "turned.jpg", exif=exif)
    picture.save(tmp_path / "coarse.jpg", quality=60, progressive=True)
    picture.convert("L").save(tmp_path / "gray.jpg")
    picture.save(tmp_path / "rgb.png")
    picture.save(tmp_path / "rgb.bmp")
    picture.convert("RGBA").save(tmp_path / "rgba.png")
    picture.quantize(16).save(tmp_path / "palette.png")
    paths = sorted(tmp_path.iterdir())
    run_program(mxnet_python, DECODE, tmp_path / "out.npz", *paths)
    out = np.load(tmp_path / "out.npz")
    for path in paths:
        for flag in (0, 1):
            got = codec.decode(path.read_bytes(), flag)
            lossy = 3 if path.suffix == ".jpg" else 0
            np.testing.assert_allclose(
                got.astype(int), out[path.name + str(flag)], rtol=0, atol=lossy, err_msg=path.name
            )


def test_what_is_no_image_is_refused(tmp_path):
    data = codec.encode(PICTURE, ".jpg")
    (tmp_path / "cut.jpg").write_bytes(data[: len(data) // 2])
    with pytest.raises(MXNetError, match=r"cut\.jpg.*cannot be decoded"):
        mx.image.imread(str(tmp_path / "cut.jpg"))
    with pytest.raises(MXNetError, match="no image"):
        mx.image.imdecode(b"%!PS-Adobe-3.0 EPSF-3.0")
    with pytest.raises(MXNetError, match="cannot open"):
        mx.image.imread(str(tmp_path / "absent.jpg"))
    with pytest.raises(MXNetError, match="empty"):
        mx.image.imdecode(b"")


@pytest.mark.parametrize("ending", [".jpg", ".png"])
def test_damaged_images_give_an_error_or_pixels(ending):
    @settings(max_examples=500, deadline=2000, suppress_health_check=list(HealthCheck))
    @given(mutated(codec.encode(PICTURE, ending, 5)), st.sampled_from([0, 1, -1]))
    def run(data, flag):
        survives(lambda: codec.decode(data, flag))

    run()


def test_either_kind_of_array_comes_back_as_it_was_given():
    for source in (PICTURE, mx.nd.array(PICTURE, dtype="uint8")):
        given = source
        for function in (lambda x: mx.image.imresize(x, 4, 5), lambda x: mx.image.color_normalize(x, 1.0, 2.0)):
            assert type(function(given)) is type(given)
        for augmenter in mx.image.CreateAugmenter(
            (3, 6, 6), 7, True, False, True, True, True, 0.1, 0.1, 0.1, 0.1, 0.1, 1
        ):
            given = augmenter(given)
        assert given.shape == (6, 6, 3) and given.dtype == np.float32


def test_augmenters_follow_the_seed():
    chain = mx.image.CreateAugmenter(
        (3, 6, 6), rand_crop=True, rand_resize=True, rand_mirror=True, brightness=0.5, hue=0.2
    )

    def run():
        random.seed(3)
        image = PICTURE
        for augmenter in chain:
            image = augmenter(image)
        return image

    np.testing.assert_array_equal(run(), run())


def test_colour_jitters_follow_their_formulas():
    image = PICTURE.astype(np.float32)
    random.seed(1)
    alpha = 1 + random.uniform(-0.4, 0.4)
    luma = image @ [0.299, 0.587, 0.114]
    for augmenter, want in (
        (mx.image.BrightnessJitterAug(0.4), image * alpha),
        (mx.image.ContrastJitterAug(0.4), image * alpha + luma.mean() * (1 - alpha)),
        (mx.image.SaturationJitterAug(0.4), image * alpha + luma[..., None] * (1 - alpha)),
    ):
        random.seed(1)
        np.testing.assert_allclose(augmenter(image), want, rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(mx.image.HueJitterAug(0)(image), image, atol=1)


def test_dumps_tell_the_arguments():
    assert json.loads(mx.image.ResizeAug(7, 1).dumps()) == ["resizeaug", {"size": 7, "interp": 1}]
    assert mx.image.SequentialAug([mx.image.CastAug()]).dumps() == [
        "sequentialaug",
        ['["castaug", {"type": "float32"}]'],
    ]


# ---------------------------------------------------------------- iterators


@pytest.fixture
def records(tmp_path):
    """Seven pictures with their numbers as labels, in a record file and beside an image list."""
    with MXIndexedRecordIO(tmp_path / "x.idx", tmp_path / "x.rec", "w") as writer:
        for i in range(7):
            data = codec.encode(np.full((8, 9, 3), i * 10, np.uint8), ".png", 1)
            writer.write_idx(i, pack(IRHeader(0, float(i), i, 0), data))
            (tmp_path / f"{i}.png").write_bytes(data)
    lines = [f"{i}\t{i}\t{i}.png\n" for i in range(7)]
    (tmp_path / "x.lst").write_text("".join(lines))
    return tmp_path


def sources(folder):
    yield {"path_imgrec": str(folder / "x.rec")}
    yield {"path_imgrec": str(folder / "x.rec"), "path_imgidx": str(folder / "x.idx")}
    yield {"path_imglist": str(folder / "x.lst"), "path_root": str(folder)}
    yield {"imglist": [[float(i), f"{i}.png"] for i in range(7)], "path_root": str(folder)}


@pytest.mark.parametrize(("handle", "passes"), [
    ("pad", [([0, 1, 2], 0), ([3, 4, 5], 0), ([6, 0, 1], 2)]),
    ("discard", [([0, 1, 2], 0), ([3, 4, 5], 0)]),
])  # fmt: skip
def test_image_iter_reads_every_source(records, handle, passes):
    for source in sources(records):
        iterator = mx.image.ImageIter(3, (3, 6, 6), last_batch_handle=handle, **source)
        for _ in range(2):
            got = [(batch.label[0].asnumpy().tolist(), batch.pad) for batch in iterator]
            assert got == passes
            iterator.reset()
        batch = iterator.next()
        assert batch.data[0].shape == iterator.provide_data[0].shape == (3, 3, 6, 6)
        np.testing.assert_array_equal(batch.data[0].asnumpy()[2], 20)


def test_image_iter_rolls_over(records):
    iterator = mx.image.ImageIter(3, (3, 6, 6), path_imgrec=str(records / "x.rec"), last_batch_handle="roll_over")
    seen = []
    for _ in range(3):
        seen.append([batch.label[0].asnumpy().tolist() for batch in iterator])
        iterator.reset()
    assert seen == [[[0, 1, 2], [3, 4, 5]], [[6, 0, 1], [2, 3, 4]], [[5, 6, 0], [1, 2, 3], [4, 5, 6]]]


def test_image_iter_shuffles_and_parts(records):
    source = {"path_imgrec": str(records / "x.rec"), "path_imgidx": str(records / "x.idx")}
    iterator = mx.image.ImageIter(1, (3, 6, 6), shuffle=True, num_parts=2, part_index=1, **source)
    assert sorted(float(batch.label[0].asnumpy()[0]) for batch in iterator) == [3, 4, 5]
    with pytest.raises(MXNetError, match="path_imgidx"):
        mx.image.ImageIter(1, (3, 6, 6), shuffle=True, path_imgrec=str(records / "x.rec"))


def test_image_iter_leaves_out_what_it_cannot_decode(records):
    (records / "3.png").write_bytes(b"no picture")
    iterator = mx.image.ImageIter(2, (3, 6, 6), path_imglist=str(records / "x.lst"), path_root=str(records))
    with pytest.warns(UserWarning, match="left out.*no image"):
        labels = [label for batch in iterator for label in batch.label[0].asnumpy().tolist()]
    assert labels == [0, 1, 2, 4, 5, 6]


# ---------------------------------------------------------------- detection

BOXES = np.array([[1, 0.25, 0.2, 0.75, 0.6], [2, 0.0, 0.0, 0.1, 0.1]], np.float32)


def test_flip_mirrors_boxes():
    image, label = mx.image.DetHorizontalFlipAug(1.0)(PICTURE, BOXES)
    np.testing.assert_array_equal(image, PICTURE[:, ::-1])
    np.testing.assert_allclose(label, [[1, 0.25, 0.2, 0.75, 0.6], [2, 0.9, 0.0, 1.0, 0.1]], rtol=1e-6)


def painted(boxes):
    """A picture of 100 x 120 in which each box is filled with its class number."""
    image = np.zeros((100, 120, 3), np.uint8)
    for kind, *box in boxes:
        left, top, right, bottom = (round(share * size) for share, size in zip(box, (120, 100, 120, 100)))
        image[top:bottom, left:right] = int(kind)
    return image


@pytest.mark.parametrize("augmenter", [
    mx.image.DetRandomCropAug(0.5, (0.5, 2.0), (0.2, 0.9), 0.3, 200),
    mx.image.DetRandomPadAug((0.5, 2.0), (1.2, 4.0), 50, (9, 9, 9)),
])  # fmt: skip
def test_boxes_stay_on_their_objects(augmenter):
    random.seed(0)
    boxes = np.array([[1, 0.25, 0.2, 0.75, 0.6]], np.float32)
    changed = 0
    for _ in range(50):
        image, label = augmenter(painted(boxes), boxes)
        changed += image.shape != (100, 120, 3)
        rows, columns = np.nonzero(image[:, :, 0] == 1)
        height, width = image.shape[:2]
        found = [columns.min() / width, rows.min() / height, (columns.max() + 1) / width, (rows.max() + 1) / height]
        np.testing.assert_allclose(label[0, 1:], found, atol=0.02)
    assert changed > 25


def test_crop_drops_what_it_cuts_away():
    random.seed(0)
    crop = mx.image.DetRandomCropAug(0.0, (0.8, 1.2), (0.05, 0.2), 0.6, 200)
    for _ in range(30):
        _, label = crop(painted(BOXES), BOXES)
        assert set(label[:, 0]) <= {1, 2} and len(label) and (label[:, 1:] >= 0).all() and (label[:, 1:] <= 1).all()


def test_det_iter(tmp_path):
    with MXIndexedRecordIO(tmp_path / "x.idx", tmp_path / "x.rec", "w") as writer:
        for i, count in enumerate((2, 1, 2)):
            label = np.concatenate([[2, 5], BOXES[:count].reshape(-1)])
            writer.write_idx(i, pack(IRHeader(0, label, i, 0), codec.encode(painted(BOXES[:count]), ".png", 1)))
    iterator = mx.image.ImageDetIter(
        2, (3, 20, 30), path_imgrec=str(tmp_path / "x.rec"), path_imgidx=str(tmp_path / "x.idx")
    )
    assert iterator.provide_label[0] == ("label", (2, 2, 5))
    first, second = list(iterator)
    np.testing.assert_allclose(first.label[0].asnumpy(), [BOXES, [BOXES[0], [-1] * 5]], rtol=1e-6)
    assert first.data[0].shape == (2, 3, 20, 30) and second.pad == 1
    iterator.reshape((3, 10, 10), (4, 5))
    iterator.reset()
    assert iterator.next().label[0].shape == (2, 4, 5)
    with pytest.raises(ValueError, match="cannot hold"):
        iterator.reshape(label_shape=(1, 5))
    picture = next(iterator.draw_next(color=(255, 0, 0)))
    assert picture.shape == (10, 10, 3) and (picture == [255, 0, 0]).all(2).any()


@pytest.mark.parametrize("label", [[2, 5, 1], [2, 4, 1, 0, 0, 1, 1], [2, 5, 1, 0, 0, 1], [2, 5, 1, 0.5, 0.5, 0.5, 0.9]])
def test_malformed_labels_are_refused(label):
    with pytest.raises(MXNetError, match="detection label"):
        detection.parse_label(label)


def test_a_file_without_any_detection_label_is_refused(tmp_path):
    with MXIndexedRecordIO(tmp_path / "x.idx", tmp_path / "x.rec", "w") as writer:
        writer.write_idx(0, pack(IRHeader(0, 3.0, 0, 0), codec.encode(painted(BOXES), ".png", 1)))
    with pytest.raises(MXNetError, match="a detection label of 1 numbers"):
        mx.image.ImageDetIter(1, (3, 20, 30), path_imgrec=str(tmp_path / "x.rec"))


def test_a_window_of_no_pixels_is_scaled_but_not_cut():
    assert mx.image.scale_down((300, 400), (0, 0)) == (0, 0)
    with pytest.raises(mx.MXNetError, match="no pixel"):
        mx.image.center_crop(mx.nd.zeros((4, 4, 3)), (0, 0))


def test_batches_that_begin_with_kept_samples_count_the_others_as_padding(tmp_path):
    for i in range(4):
        record = mx.recordio.pack_img(IRHeader(0, i, i, 0), np.full((8, 8, 3), i, np.uint8), img_fmt=".png")
        (tmp_path / f"{i}.png").write_bytes(mx.recordio.unpack(record)[1])
    listed = [[i, f"{i}.png"] for i in range(4)]
    iterator = mx.image.ImageIter(3, (3, 8, 8), imglist=listed, path_root=str(tmp_path), last_batch_handle="roll_over")
    assert [b.label[0].asnumpy().tolist() for b in iterator] == [[0, 1, 2]]
    iterator.reset()
    batch = iterator.next()  # labels and padding as MXNet 1.9.1 gives them
    assert batch.label[0].asnumpy().tolist() == [3, 0, 1] and batch.pad == 2


def test_results_are_written_to_out():
    picture = mx.nd.array(np.arange(48).reshape(4, 4, 3), dtype="uint8")
    out = mx.nd.zeros((2, 2, 3), dtype="uint8")
    assert mx.image.imresize(picture, 2, 2, out=out) is out
    np.testing.assert_array_equal(out.asnumpy(), mx.image.imresize(picture, 2, 2).asnumpy())


def test_each_image_of_a_batch_has_its_own_rotation():
    batch = mx.nd.zeros((2, 1, 3, 3))
    batch[:, 0, 1, 2] = 1
    turned = mx.image.imrotate(batch, mx.nd.array([90.0, 180.0])).asnumpy()[:, 0]
    assert [int(np.argmax(x)) for x in turned] == [1, 3]
    with pytest.raises(ValueError, match="1 rotations for 2 images"):
        mx.image.imrotate(batch, mx.nd.array([90.0]))


def test_augmenters_of_detection_take_the_areas_and_statistics_as_given():
    crop, normalised = (
        mx.image.CreateDetAugmenter((3, 4, 4), **how)[0 if "rand_crop" in how else -1].dumps()
        for how in ({"rand_crop": 1}, {"mean": True})
    )
    assert json.loads(crop[1][0])[1]["area_range"] == [0.05, 3.0]  # as in MXNet 1.9.1, where windows end at the image
    # MXNet 1.9.1 keeps ImageNet's mean in float32.
    assert json.loads(normalised[1])[1] == {
        "mean": [123.68000030517578, 116.27999877929688, 103.52999877929688],
        "std": None,
    }


def test_pictures_of_nd_are_decoded_whole():
    content = codec.encode(painted(BOXES), ".png", 1)
    assert mx.nd.imdecode(content).shape == painted(BOXES).shape
    assert mx.nd.imdecode(content, channels=1).shape == (*painted(BOXES).shape[:2], 1)
    for options in ({"clip_rect": (0, 0, 2, 2)}, {"mean": mx.nd.ones(3)}, {"out": mx.nd.ones(3)}):
        with pytest.raises(NotImplementedError, match=r"image\.fixed_crop"):
            mx.nd.imdecode(content, **options)


@pytest.mark.parametrize(
    ("values", "corner"), [(7.0, [7, 0, 0]), ((1, 2), [1, 2, 0]), ((1, 2, 3, 4), [1, 2, 3]), ((), [0, 0, 0])]
)
def test_channels_of_a_border_without_a_value_get_0(values, corner):
    """Measured from MXNet 1.9.1."""
    bordered = mx.image.copyMakeBorder(mx.nd.ones((2, 2, 3), dtype="uint8"), 1, 0, 0, 0, values=values)
    assert bordered[0, 0].asnumpy().tolist() == corner


@pytest.mark.parametrize("shape", [(4, 5), (5,), (2, 4, 5, 3)])
def test_a_border_is_made_around_a_single_image(shape):
    with pytest.raises(MXNetError, match=r"\(height, width, channels\)"):
        mx.image.copyMakeBorder(mx.nd.ones(shape, dtype="uint8"), 1, 1, 1, 1)


def _png_of_zeros(width: int, height: int) -> bytes:
    """A gray PNG file of any size, made without its pixels."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    packer, packed, line = zlib.compressobj(9), [], bytes(1 + width)
    packed = [packer.compress(line) for _ in range(height)]
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", b"".join(packed) + packer.flush()) + chunk(b"IEND", b"")


READERS = {
    "imread": lambda path, data: image.imread(path),
    "imdecode": lambda path, data: image.imdecode(data),
    "unpack_img": lambda path, data: recordio.unpack_img(recordio.pack(recordio.IRHeader(0, 1, 0, 0), data)),
    "segmentation": lambda path, data: codec.load_picture(path),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_picture_beyond_the_limit_takes_no_memory(reader, tmp_path, monkeypatch):
    data = _png_of_zeros(16000, 16000)
    assert len(data) < 300_000
    (tmp_path / "x.png").write_bytes(data)
    message = "16000 x 16000 pixels, beyond the limit of 64000000; MXNET_MAX_IMAGE_PIXELS or max_pixels= sets"
    with bounded_memory(64 << 20), pytest.raises(MXNetError, match=message):
        READERS[reader](str(tmp_path / "x.png"), data)
    monkeypatch.setenv("MXNET_MAX_IMAGE_PIXELS", "100")
    with pytest.raises(MXNetError, match="8 x 16 pixels, beyond the limit of 100"):
        READERS[reader](_written(tmp_path, _png_of_zeros(8, 16)), _png_of_zeros(8, 16))


def _written(folder, data):
    (folder / "y.png").write_bytes(data)
    return str(folder / "y.png")


def test_the_limit_is_lifted_beyond_pillows_own(monkeypatch):
    from PIL import Image

    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)  # Pillow refuses twice as many
    data = _png_of_zeros(100, 100)
    monkeypatch.setenv("MXNET_MAX_IMAGE_PIXELS", "0")
    assert image.imdecode(data).shape == (100, 100, 3)
    assert Image.MAX_IMAGE_PIXELS == 1000
    monkeypatch.setenv("MXNET_MAX_IMAGE_PIXELS", "10")
    assert image.imdecode(data, max_pixels=10_000).shape == (100, 100, 3)


@pytest.mark.parametrize("flag", [0, 1, -1])
@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "P", "I;16", "CMYK", "1", "LA"])
def test_pictures_are_converted_strip_by_strip(mode, flag, monkeypatch):
    """As in one piece, which was compared with OpenCV."""
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, (37, 11, 4), dtype=np.uint8)
    picture = Image.fromarray(pixels[:, :, 0].astype("uint16") * 257) if mode == "I;16" else None
    picture = picture or Image.fromarray(pixels).convert("RGB").convert(mode)
    file = io.BytesIO()
    picture.save(file, "JPEG" if mode == "CMYK" else "PNG")
    whole = codec.decode(file.getvalue(), flag)
    monkeypatch.setattr(codec, "STRIP", 100)
    np.testing.assert_array_equal(codec.decode(file.getvalue(), flag), whole, strict=True)


def test_a_large_picture_takes_one_array_beside_pillows_own():
    data = _png_of_zeros(7000, 7000)  # 49 MB in Pillow, 147 MB of RGB
    with bounded_memory(330 << 20):
        assert codec.decode(data, 1).shape == (7000, 7000, 3)
