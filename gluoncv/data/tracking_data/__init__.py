"""What trackers are trained on."""

from gluoncv.data.tracking_data.track import AnchorTarget, SubDataset, TrkDataset
