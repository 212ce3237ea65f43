"""`gluon.contrib.data.vision`: the loader of MXNet 2 with its augmentation."""

import numpy as np
import pytest

from core.image import codec
from gluon.contrib.data.vision import ImageDataLoader, create_image_augment
from gluon.data.vision import transforms


@pytest.fixture
def listed(tmp_path):
    items = []
    for number in range(5):
        pixels = np.full((12, 16, 3), 40 * number, np.uint8)
        (tmp_path / f"{number}.png").write_bytes(codec.encode(pixels, ".png", 1))
        items.append([number, f"{number}.png"])
    return tmp_path, items


def test_pictures_are_cut_normalised_and_labelled(listed):
    root, items = listed
    loader = ImageDataLoader(2, (3, 8, 8), imglist=items, path_root=str(root), mean=[0.1] * 3, std=[0.5] * 3)
    batches = list(loader)
    assert len(loader) == 3 and [x.shape for x, _ in batches] == [(2, 3, 8, 8), (2, 3, 8, 8), (1, 3, 8, 8)]
    assert [float(v) for _, y in batches for v in y.asnumpy().ravel()] == [0, 1, 2, 3, 4]
    expected = (80 / 255 - 0.1) / 0.5
    np.testing.assert_allclose(batches[1][0][0].asnumpy(), expected, rtol=1e-5)


def test_a_share_of_the_data_with_transforms_of_ones_own(listed):
    root, items = listed
    own = [transforms.CenterCrop(4), transforms.ToTensor()]
    loader = ImageDataLoader(
        2, (3, 4, 4), imglist=items, path_root=str(root), num_parts=2, part_index=1, last_batch="discard", aug_list=own
    )
    ((pictures, labels),) = loader
    assert pictures.shape == (2, 3, 4, 4) and labels.asnumpy().ravel().tolist() == [3, 4]


def test_every_augmentation_and_what_is_refused(listed):
    augment = create_image_augment(
        (3, 6, 8), resize=10, rand_crop=True, rand_resize=True, rand_mirror=True, mean=True, std=True, brightness=0.1,
        contrast=0.1, saturation=0.1, hue=0.1, pca_noise=0.1, rand_gray=0.5, inter_method=10, dtype="float16",
    )  # fmt: skip
    out = augment(np.zeros((12, 16, 3), np.uint8))
    assert out.shape == (3, 6, 8) and out.dtype == np.float16
    with pytest.raises(AssertionError, match="rand_crop"):
        create_image_augment((3, 6, 8), rand_resize=True)
    with pytest.raises(AssertionError, match="imglist"):
        ImageDataLoader(2, (3, 6, 8))
