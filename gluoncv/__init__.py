"""GluonCV: networks for pictures and films."""

from gluoncv import data, loss, model_zoo, nn, utils
