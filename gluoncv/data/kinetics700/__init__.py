"""Kinetics 700."""

from gluoncv.data.kinetics700.classification import Kinetics700
