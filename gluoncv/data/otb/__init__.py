"""Benchmarks of trackers."""

from gluoncv.data.otb.tracking import OTBTracking, OTBVideo, Video
