"""SMOT: objects of many classes followed through a video by one detector (Li et al., 2020, arXiv 2010.16031)."""

from gluoncv.model_zoo.smot.motion_estimation import DummyMotionEstimator, FarneBeckFlowMotionEstimator, MotionEstimator
from gluoncv.model_zoo.smot.smot_tracker import SMOTTracker
from gluoncv.model_zoo.smot.ssd import SSD
from gluoncv.model_zoo.smot.track import Track, TrackState
from gluoncv.model_zoo.smot.tracktors import BaseAnchorBasedTracktor, GluonSSDMultiClassTracktor
