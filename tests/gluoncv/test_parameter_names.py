"""Full names of the parameters of networks and their order, as GluonCV 0.10 on MXNet 1.9.1 tells them."""

from hashlib import sha256

import pytest

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
}


@pytest.mark.parametrize("network", NAMES)
def test_parameters_have_the_names_of_gluoncv_in_its_order(network):
    settings = {"classes": ["a", "b"]} if network.startswith("custom_") else {}
    with NameManager():
        net = model_zoo.get_model(network, pretrained_base=False, **settings)
    names = list(net.collect_params())
    assert (len(names), sha256("\n".join(names).encode()).hexdigest()[:12]) == NAMES[network]
