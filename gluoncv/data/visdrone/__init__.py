"""VisDrone."""

from gluoncv.data.visdrone.detection import VisDroneDetection
