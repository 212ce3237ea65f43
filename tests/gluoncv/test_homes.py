"""Modules and names where GluonCV has them, and builders that take numbers."""

import importlib
import sys
import types

import numpy as np
import pytest

import gluoncv
from core import autograd, gluon, nd
from core.base import MXNetError
from gluoncv import check, homes, model_zoo
from gluoncv.model_zoo.model_zoo import MODELS

# A module of GluonCV 0.10 -> names that users take from it.
NAMES = {
    "alexnet": "AlexNet alexnet",
    "attention": "PAM_Module CAM_Module",
    "action_recognition.actionrec_resnetv1b": "ActionRecResNetV1b resnet50_v1b_custom",
    "action_recognition.i3d_slow": "ResNet_SlowFast i3d_slow_resnet101_f16s4_kinetics700",
    "alpha_pose.fast_pose": "get_alphapose AlphaPose DUC FastSEResNet",
    "center_net.deconv_dla": "DeconvDLA get_deconv_dla dla34_deconv dla34_deconv_dcnv2",
    "center_net.deconv_resnet": "DeconvResnet BilinearUpSample get_deconv_resnet resnet101_v1b_deconv_dcnv2",
    "center_net.duc_mobilenet": "DUCMobilenet get_duc_mobilenet mobilenetv3_small_duc",
    "center_net.center_net": "CenterNet get_base_network center_net_dla34_voc",
    "cifarresnet": "get_cifar_resnet CIFARResNetV1 CIFARBasicBlockV2 cifar_resnet20_v1",
    "cifarresnext": "get_cifar_resnext CIFARResNext CIFARBlock",
    "cifarwideresnet": "get_cifar_wide_resnet CIFARWideResNet cifar_wideresnet40_8",
    "deeplabv3b_plus": "DeepLabWV3Plus get_deeplab_v3b_plus_wideresnet_citys",
    "densenet": "DenseNet get_densenet densenet201",
    "inception": "Inception3 inception_v3",
    "model_store": "get_model_file pretrained_model_list",
    "monodepthv2.pose_decoder": "PoseDecoder",
    "pruned_resnet.resnetv1b_pruned": "resnet50_v1d_37",
    "quantized.quantized": "mobilenet1_0_int8",
    "rcnn.faster_rcnn.data_parallel": "ForwardBackwardTask",
    "rcnn.faster_rcnn.faster_rcnn": "FasterRCNN get_faster_rcnn custom_faster_rcnn_fpn",
    "rcnn.mask_rcnn.predefined_models": "mask_rcnn_resnet50_v1b_coco",
    "rcnn.mask_rcnn.rcnn_target": "MaskTargetGenerator",
    "rcnn.rpn.anchor": "RPNAnchorGenerator",
    "resnet": "ResNetV1 BottleneckV2 get_resnet resnet50_v1 se_resnet18_v2",
    "senet": "SENet SEBlock get_senet",
    "se_resnet": "SE_ResNetV1 SE_BottleneckV2 get_se_resnet",
    "simple_pose.simple_pose_resnet": "SimplePoseResNet get_simple_pose_resnet",
    "ssd.presets": "ssd_512_resnet50_v1_voc",
    "smot.smot_tracker": "SMOTTracker nms_fallback gpu_iou",
    "smot.utils": "Track TrackState remap_bboxes mxnet_frame_preprocessing",
    "ssd.ssd": "SSD get_ssd custom_ssd",
    "vgg": "VGG get_vgg vgg16_bn",
    "yolo": "darknet53 get_darknet yolo3_darknet53_custom",
    "yolo.darknet": "DarknetV3 get_darknet",
}


@pytest.mark.parametrize("module", NAMES)
def test_modules_hold_what_they_hold_upstream(module):
    found = importlib.import_module(f"gluoncv.model_zoo.{module}")
    assert all(callable(getattr(found, name)) for name in NAMES[module].split())
    with pytest.raises(AttributeError, match="no_such_network"):
        found.no_such_network  # noqa: B018
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"gluoncv.model_zoo.{module}.no_such_module")


def test_every_home_is_there():
    for module in homes.HOMES:
        importlib.import_module(module)
        for home in homes.HOMES[module]:
            importlib.import_module(home)
    for name, ours in homes.RENAMED.items():
        home, _, held = ours.rpartition(".")
        assert hasattr(importlib.import_module(home), held), (name, ours)
    assert gluoncv.model_zoo.resnet.get_resnet is model_zoo.get_resnet


def test_builders_take_numbers(monkeypatch):
    """Those of published networks are the same networks; others are built, or named in the error."""
    asked = []
    monkeypatch.setitem(MODELS, "se_resnet50_v2", lambda **kwargs: asked.append(kwargs))
    model_zoo.get_resnet(2, 50, False, use_se=True, classes=7)
    model_zoo.get_se_resnet(2, 50, True, "here", "folder")
    assert asked[0] == {"pretrained": False, "root": None, "ctx": None, "classes": 7}
    assert asked[1] == {"pretrained": True, "ctx": "here", "root": "folder"}

    def shapes(net):
        net.initialize()
        net(nd.zeros((1, 3, 32, 32)))
        return [p.shape for p in net.collect_params().values()]

    assert shapes(model_zoo.get_cifar_resnet(1, 20)) == shapes(model_zoo.cifar_resnet20_v1())
    assert len(shapes(model_zoo.get_cifar_resnet(2, 8, classes=4))) < len(shapes(model_zoo.cifar_resnet20_v2()))
    assert shapes(model_zoo.get_cifar_wide_resnet(10, 2, drop_rate=0.1))[-1] == (10,)
    assert shapes(model_zoo.get_mobilenet_v2(0.1, classes=3)) != shapes(model_zoo.mobilenetv2_0_25(classes=3))
    assert shapes(model_zoo.get_mobilenet_v3("small", 0.25, classes=5))[-1] == (5,)
    with pytest.raises(AssertionError, match="multiple of 6, got 21"):
        model_zoo.get_cifar_resnet(1, 21)
    with pytest.raises(ValueError, match=r"no model 'vgg12'\. Did you mean 'vgg1"):
        model_zoo.get_vgg(12)
    with pytest.raises(ValueError, match="no published weights for 'cifar_resnet8_v1'"):
        model_zoo.get_cifar_resnet(1, 8, pretrained=True)


@pytest.mark.parametrize("mix_ratio", [1.0, 0.5])
def test_tasks_of_a_device(mix_ratio):
    """The losses of a batch as `Parallel` collects them; with a smaller weight the gradients are as much smaller."""
    from gluoncv.model_zoo.rcnn.faster_rcnn.data_parallel import ForwardBackwardTask

    weight = gluon.Parameter("weight", shape=(2,), init="ones")
    weight.initialize()

    class Net:
        def __call__(self, data, boxes, labels):
            scale = weight.data()
            rows, classes = nd.ones((1, 2)), nd.array([[1.0, 0.0]])
            cls_pred = nd.array([[[0.0, 2.0], [1.0, 0.0]]]) * scale[0]
            box_pred = nd.ones((1, 2, 1, 4)) * scale[1]
            masks = nd.ones((1, 2, 1, 4))
            return cls_pred, box_pred, None, None, None, rows.expand_dims(-1) * scale[0], nd.ones((1, 2, 4)) * scale[1], None, classes, nd.zeros((1, 2, 1, 4)), masks, None  # fmt: skip

    losses = (
        gluon.loss.SigmoidBinaryCrossEntropyLoss(from_sigmoid=False), gluon.loss.HuberLoss(rho=1 / 9),
        gluon.loss.SoftmaxCrossEntropyLoss(), gluon.loss.HuberLoss(rho=1),
    )  # fmt: skip
    task = ForwardBackwardTask(Net(), None, *losses, mix_ratio, False)
    batch = (nd.zeros((1, 3, 8, 8)), nd.zeros((1, 1, 6)), nd.array([[1, -1]]), nd.zeros((1, 2, 4)), nd.ones((1, 2, 4)))
    *means, first, _, third, _ = task.forward_backward(batch)
    # One of two proposals counts, and both regions: log(1 + e^-1), 4 (1 - 1/18), (log(1 + e^-2) + log(1 + e^-1)) / 2,
    # 4 / 2.
    expected = [np.log1p(np.exp(-1)), 8 * (1 - 1 / 18), (np.log1p(np.exp(-2)) + np.log1p(np.exp(-1))) / 2, 2]
    np.testing.assert_allclose([m.asscalar() for m in means], np.array(expected) * mix_ratio, rtol=1e-5)
    assert [part.shape for part in first[0]] == [(1, 2), (1, 2)] and third[1][0].shape == (1, 2, 2)
    # The derivative of Huber's losses, 8 and 4 in all, and of the cross-entropies by the first weight.
    np.testing.assert_allclose(weight.grad().asnumpy()[1], (8 + 4) * mix_ratio, rtol=1e-5)
    assert not autograd.is_recording()


def test_bodies_of_centernet_by_functions():
    net = model_zoo.center_net.duc_mobilenet.mobilenetv3_small_duc()
    assert net(nd.zeros((1, 3, 64, 64))).shape == (1, 32, 16, 16)
    from gluoncv.model_zoo.center_net import deconv_resnet

    net = deconv_resnet.get_deconv_resnet("resnet18_v1b", use_dcnv2=True)
    assert net(nd.zeros((1, 3, 32, 32))).shape == (1, 64, 8, 8)


def test_names_without_what_they_name():
    """Each says what serves here."""
    for name, words in ((gluoncv.data.COCODetectionDALI, "COCODetection"), (gluoncv.utils.export_tvm, "ONNX")):
        with pytest.raises(MXNetError, match=words):
            name("path", None, data_shape=(1, 3, 8, 8))


def test_versions_that_programs_ask_for():
    check._require_mxnet_version("1.4.0", "2.0.0")
    with pytest.raises(RuntimeError, match=r"mxnet >=1\.10,<2\.0\.0"):
        check._require_mxnet_version("1.10")
    with pytest.raises(ImportError, match="PyTorch"):
        check._require_pytorch_version("1.4.0")
    check._deprecate_python2()


def test_networks_for_tensorboard(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "mxboard", None)
    net = gluon.nn.Dense(2, in_units=3)
    with pytest.raises(MXNetError, match="pip install mxboard"):
        gluoncv.utils.viz.plot_mxboard(net)
    drawn = []

    class SummaryWriter:
        def __init__(self, logdir):
            drawn.append(logdir)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

        def add_graph(self, graph):
            drawn.append(graph.list_arguments())

    monkeypatch.setitem(sys.modules, "mxboard", types.SimpleNamespace(SummaryWriter=SummaryWriter))
    gluoncv.utils.viz.plot_mxboard(net, str(tmp_path))
    assert drawn == [str(tmp_path), ["data", net.weight.name, net.bias.name]]
