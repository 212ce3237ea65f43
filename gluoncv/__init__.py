"""GluonCV: networks for pictures and films."""

from gluoncv import model_zoo, nn
