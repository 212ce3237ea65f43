"""Kinetics 400."""

from gluoncv.data.kinetics400.classification import Kinetics400
