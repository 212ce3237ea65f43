"""Convolutions that MXNet 1.x kept under `gluon.contrib.cnn`."""

from gluon.contrib.cnn.conv_layers import DeformableConvolution, ModulatedDeformableConvolution
