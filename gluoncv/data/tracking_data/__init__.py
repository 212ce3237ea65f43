"""What trackers are trained on."""

from gluoncv.data.tracking_data.track import TrkDataset
