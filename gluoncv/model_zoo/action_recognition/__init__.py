"""Networks that name actions in videos, one module per family."""

from gluoncv.model_zoo.action_recognition.actionrec import (
    ActionRecInceptionV1,
    ActionRecInceptionV3,
    ActionRecResNetV1b,
    ActionRecVGG16,
)
from gluoncv.model_zoo.action_recognition.c3d import C3D
from gluoncv.model_zoo.action_recognition.i3d_inception import I3D_InceptionV1, I3D_InceptionV3
from gluoncv.model_zoo.action_recognition.i3d_resnet import I3D_ResNetV1, ResNet_SlowFast
from gluoncv.model_zoo.action_recognition.non_local import NonLocal
from gluoncv.model_zoo.action_recognition.p3d import P3D
from gluoncv.model_zoo.action_recognition.r2plus1d import R2Plus1D
from gluoncv.model_zoo.action_recognition.slowfast import SlowFast
