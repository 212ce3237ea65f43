"""Full names of the parameters of networks and their order, as GluonCV 0.10 on MXNet 1.9.1 tells them."""

from hashlib import sha256

import pytest

from core import symbol
from core.name import NameManager
from gluoncv import model_zoo

# network -> parameters, digest of their names in order
NAMES = {
    "p3d_resnet50_kinetics400": (332, "fb1a97f9c3cf"),
    "r2plus1d_resnet18_kinetics400": (187, "ab92d66aeab7"),
    "r2plus1d_resnet50_kinetics400": (352, "27f21285fa13"),
    "i3d_resnet50_v1_kinetics400": (267, "19a81c965fee"),
    "i3d_nl10_resnet50_v1_kinetics400": (387, "867da975551e"),
    "i3d_inceptionv1_kinetics400": (287, "b8daa4d90822"),
    "i3d_slow_resnet101_f16s4_kinetics700": (522, "a6db45900e2b"),
    "slowfast_4x16_resnet50_kinetics400": (552, "ef391398b00d"),
    "c3d_kinetics400": (22, "7b7f028a46f3"),
    "vgg16_ucf101": (32, "587ac0bc1722"),
    "inceptionv1_ucf101": (287, "599860b35c80"),
    "inceptionv3_ucf101": (472, "4fe3bcd9b15d"),
    "resnet18_v1b_custom": (102, "9ac0786e911d"),
    "alpha_pose_resnet101_v1b_coco": (548, "9f56c1ddbc8a"),
    "mobile_pose_resnet18_v1b": (117, "9d773d0728fe"),
    "mobile_pose_mobilenetv2_1.0": (277, "89aa84469e5a"),
    "simple_pose_resnet18_v1b": (117, "d30f8aa64579"),
    "mask_rcnn_fpn_resnet18_v1b_coco": (145, "bfd6d616e564"),
    "mask_rcnn_fpn_syncbn_resnet18_v1b_coco": (197, "b37520ee0bbd"),
    "mask_rcnn_resnet18_v1b_coco": (115, "6a5bcf26fe1a"),
    "faster_rcnn_resnet50_v1b_voc": (276, "b2baac0a362b"),
    "faster_rcnn_fpn_resnet50_v1b_coco": (302, "9c177d46c978"),
    "doublehead_rcnn_resnet50_v1b_voc": (292, "c412b7c63d43"),
    "custom_faster_rcnn_fpn": (133, "353b09481bc4"),
    "center_net_resnet18_v1b_voc": (145, "314f2179d969"),
    "center_net_resnet18_v1b_dcnv2_voc": (151, "e5843766074a"),
    "fcn_resnet50_voc": (289, "2418416a612b"),
    "psp_resnet50_ade": (309, "c33e9d2a6f5c"),
    "deeplab_resnet50_ade": (319, "0083d2305885"),
    "deeplab_v3b_plus_wideresnet_citys": (225, "a5d125b21be0"),
    "icnet_resnet50_citys": (348, "6444941be379"),
    "fastscnn_citys": (231, "fdcc1bf576c4"),
    "danet_resnet50_citys": (309, "2345682a682d"),
    "mobilenetv3_small": (209, "bd73e18130a4"),
    "dla34": (187, "74e41df8737b"),
    "se_resnet18_v1": (118, "ff384c0c1052"),
    "se_resnet50_v2": (291, "e1beca5b8d74"),
    "residualattentionnet56": (540, "d14e4c5c1bea"),
    "cifar_residualattentionnet56": (450, "66feb7d69e0c"),
    "nasnet_4_1056": (1138, "aef7f1befc85"),
    "hrnet_w18_small_v1_s": (363, "f1f91eb90375"),
}
# network -> digest of the names of its symbol's inputs, in order: which operand of an addition comes first
INPUTS = {
    "danet_resnet50_citys": "2cc5639ec8bd",
    "cifar_resnext29_32x4d": "142a21fdc8be",
    "hrnet_w18_small_v1_c": "6c3514086836",
}


@pytest.mark.parametrize("network", NAMES)
def test_parameters_have_the_names_of_gluoncv_in_its_order(network):
    names = list(_network(network).collect_params())
    assert (len(names), _digest(names)) == NAMES[network]


@pytest.mark.parametrize("network", INPUTS)
def test_inputs_of_symbols_come_in_the_order_of_gluoncv(network):
    outputs = _network(network)(symbol.var("data"))
    whole = symbol.Group(list(outputs)) if isinstance(outputs, (list, tuple)) else outputs
    assert _digest(whole.list_inputs()) == INPUTS[network]


def _network(name):
    settings = {"classes": ["a", "b"]} if name.startswith("custom_") else {}
    with NameManager():
        return model_zoo.get_model(name, pretrained_base=False, **settings)


def _digest(names):
    return sha256("\n".join(names).encode()).hexdigest()[:12]
