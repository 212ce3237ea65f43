"""Networks for segmentation: sizes of what they give, prediction for pictures of any size,
evaluation at several scales.
"""

import numpy as np
import pytest

from core import autograd, init, nd
from gluoncv import model_zoo
from gluoncv.model_zoo.segbase import MultiEvalModel, SegEvalModel, get_segmentation_model


@pytest.fixture(scope="module")
def fast():
    net = get_segmentation_model("fastscnn", dataset="citys", crop_size=64, base_size=64, pretrained_base=False)
    net.initialize(init.Xavier(), force_reinit=True)
    return net


def test_sizes(fast):
    """forward gives what the network was made for, predict what it is given."""
    x = nd.random.normal(shape=(1, 3, 96, 128))
    assert [out.shape for out in fast(x)] == [(1, 19, 64, 64)] * 2
    assert fast.evaluate(x).shape == (1, 19, 64, 64)
    assert fast.predict(x).shape == fast.demo(x).shape == (1, 19, 96, 128)
    square = nd.random.normal(shape=(1, 3, 64, 64))
    np.testing.assert_allclose(fast.predict(square).asnumpy(), fast(square)[0].asnumpy(), rtol=1e-5, atol=1e-5)


def test_hybridized_network_predicts_the_same(fast):
    x = nd.random.normal(shape=(1, 3, 96, 64))
    want = fast.predict(x).asnumpy()
    fast.hybridize()
    np.testing.assert_allclose(fast.predict(x).asnumpy(), want, rtol=1e-4, atol=1e-5)
    assert fast(x)[0].shape == (1, 19, 64, 64)
    fast.hybridize(False)


def test_parts_of_a_network_learn_faster(fast):
    assert {p.lr_mult for p in fast.auxlayer.collect_params().values()} == {10}
    assert {p.lr_mult for p in fast.classifier.collect_params().values()} == {1}
    with autograd.record():
        loss = sum(out.mean() for out in fast(nd.random.normal(shape=(2, 3, 64, 64))))
    loss.backward()
    first = next(iter(fast.learning_to_downsample.collect_params().values())).grad().asnumpy()
    assert np.isfinite(first).all() and np.abs(first).max() > 0


def test_several_scales(fast):
    """One scale without mirror image and one square is exp(output) of the padded picture, cut to the picture."""
    picture = nd.random.normal(shape=(3, 48, 64))
    scores = MultiEvalModel(fast, 19, [picture.context], flip=False, scales=[1.0])(picture)
    black = [-0.485 / 0.229, -0.456 / 0.224, -0.406 / 0.225]
    padded = np.broadcast_to(np.array(black, "float32")[None, :, None, None], (1, 3, 64, 64)).copy()
    padded[0, :, :48] = picture.asnumpy()
    want = fast(nd.array(padded))[0].exp().asnumpy()[:, :, :48]
    np.testing.assert_allclose(scores.asnumpy(), want, rtol=1e-4, atol=1e-5)
    large = MultiEvalModel(fast, 19, [picture.context], scales=[1.75])(picture)
    assert np.isfinite(large.asnumpy()).all() and (large.asnumpy() > 0).all()
    assert SegEvalModel(fast, use_predict=True)(nd.ones((1, 3, 32, 64))).shape == (1, 19, 32, 64)


def test_wrong_names():
    with pytest.raises(ValueError, match="no segmentation model 'unet'; there are danet, deeplab"):
        get_segmentation_model("unet")
    with pytest.raises(ValueError, match="no data set 'kitti'; there are ade20k, citys"):
        get_segmentation_model("fcn", dataset="kitti")
    with pytest.raises(ValueError, match="no backbone 'vgg16'; there are resnest101"):
        get_segmentation_model("fcn", backbone="vgg16")


def test_any_backbone_and_classes_of_the_data_set():
    net = get_segmentation_model("psp", dataset="ade20k", backbone="resnet34", pretrained_base=False, crop_size=64)
    assert net.nclass == 150 and net.head.block[-1].weight.shape[0] == 150
    assert model_zoo.get_model("fcn_resnet50_voc", pretrained_base=False).nclass == 21


def test_deeplab_plus_is_on_xception_whatever_the_backbone():
    net = model_zoo.DeepLabV3Plus(5, backbone="resnet50", aux=False, pretrained_base=False, height=64, width=96)
    assert "midflow" in net._children and "auxlayer" not in net._children


def test_builders_with_get_before_their_names():
    assert model_zoo.get_fastscnn_citys is model_zoo.fastscnn_citys
    assert model_zoo.get_deeplab_resnet101_coco.__name__ == "deeplab_resnet101_coco"
    assert not hasattr(model_zoo, "get_unet")
