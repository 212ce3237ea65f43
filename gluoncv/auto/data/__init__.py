"""Pictures of the user's."""

from gluoncv.auto.data.dataset import ImageClassificationDataset, ObjectDetectionDataset, Part, hold_out, is_path, split
