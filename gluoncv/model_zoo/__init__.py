"""Networks by name, one module per family."""

from core.documentation.classes import complete as _complete
from gluon.model_zoo.vision import (
    VGG,
    AlexNet,
    BasicBlockV1,
    BasicBlockV2,
    BottleneckV1,
    BottleneckV2,
    DenseNet,
    Inception3,
    MobileNet,
    ResNetV1,
    ResNetV2,
    SqueezeNet,
)
from gluoncv.model_zoo import quantized
from gluoncv.model_zoo.action_recognition import (
    C3D,
    P3D,
    ActionRecInceptionV1,
    ActionRecInceptionV3,
    ActionRecResNetV1b,
    ActionRecVGG16,
    I3D_InceptionV1,
    I3D_InceptionV3,
    I3D_ResNetV1,
    R2Plus1D,
    ResNet_SlowFast,
    SlowFast,
)
from gluoncv.model_zoo.alpha_pose import AlphaPose
from gluoncv.model_zoo.center_net import CenterNet, get_center_net
from gluoncv.model_zoo.cifar_resnet import (
    CIFARBasicBlockV1,
    CIFARBasicBlockV2,
    CIFARResNetV1,
    CIFARResNetV2,
    CIFARWideBlock,
    CIFARWideResNet,
)
from gluoncv.model_zoo.danet import DANet, get_danet
from gluoncv.model_zoo.darknet import DarknetBasicBlockV3, DarknetV3
from gluoncv.model_zoo.deeplabv3 import DeepLabV3, get_deeplab
from gluoncv.model_zoo.deeplabv3_plus import DeepLabV3Plus, DeepLabWV3Plus, get_deeplab_plus, get_deeplabv3b_plus
from gluoncv.model_zoo.dla import DLA
from gluoncv.model_zoo.fastscnn import FastSCNN, get_fastscnn
from gluoncv.model_zoo.fcn import FCN, get_fcn
from gluoncv.model_zoo.googlenet import GoogLeNet
from gluoncv.model_zoo.hrnet import HighResolutionClsNet, HighResolutionSegNet
from gluoncv.model_zoo.icnet import ICNet, get_icnet
from gluoncv.model_zoo.mobilenet import MobileNetV2
from gluoncv.model_zoo.model_zoo import by_identifier, get_model, get_model_list, list_models, pretrained_model_list
from gluoncv.model_zoo.monodepthv2 import MonoDepth2, MonoDepth2PoseNet, get_monodepth2, get_monodepth2posenet
from gluoncv.model_zoo.nasnet import NASNetALarge
from gluoncv.model_zoo.parametric import (
    get_cifar_resnet,
    get_cifar_resnext,
    get_cifar_wide_resnet,
    get_darknet,
    get_densenet,
    get_dla,
    get_hrnet,
    get_mobile_pose,
    get_mobilenet,
    get_mobilenet_v2,
    get_mobilenet_v3,
    get_nasnet,
    get_residualAttentionModel,
    get_resnet,
    get_resnext,
    get_se_resnet,
    get_senet,
    get_simple_pose_resnet,
    get_squeezenet,
    get_vgg,
)  # fmt: skip
from gluoncv.model_zoo.pspnet import PSPNet, get_psp
from gluoncv.model_zoo.rcnn import RCNN, DoubleHeadRCNN, FasterRCNN, MaskRCNN
from gluoncv.model_zoo.residual_attention import ResidualAttentionModel, cifar_ResidualAttentionModel
from gluoncv.model_zoo.resnest import ResNeSt
from gluoncv.model_zoo.resnetv1b import BasicBlockV1b, BottleneckV1b, ResNetV1b
from gluoncv.model_zoo.resnext import CIFARResNext, ResNext, ResNextBlock, SENet, SENetBlock
from gluoncv.model_zoo.se_resnet import SE_BasicBlockV1, SE_BasicBlockV2, SE_BottleneckV1, SE_BottleneckV2
from gluoncv.model_zoo.segbase import MultiEvalModel, SegBaseModel, SegEvalModel, get_segmentation_model
from gluoncv.model_zoo.shufflenet import ShuffleNetV1, ShuffleNetV2
from gluoncv.model_zoo.siamrpn import SiamRPN, get_Siam_RPN
from gluoncv.model_zoo.simple_pose import MobilePose, SimplePoseResNet
from gluoncv.model_zoo.ssd import SSD, custom_ssd, get_ssd
from gluoncv.model_zoo.state_dict import load_state_dict, save_state_dict
from gluoncv.model_zoo.xception import Xception65, Xception71
from gluoncv.model_zoo.yolo import YOLOV3, custom_yolov3, get_yolov3


def __getattr__(name):
    """The builder of a network: `model_zoo.ssd_512_resnet50_v1_voc(...)` is
    `get_model("ssd_512_resnet50_v1_voc", ...)`.
    """
    return by_identifier(name, __name__)


_complete(globals())
