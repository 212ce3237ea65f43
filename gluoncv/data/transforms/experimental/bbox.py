"""Random crops that keep enough of some box."""

from gluon.contrib.data.vision.boxes import bbox_random_crop_with_constraints as random_crop_with_constraints

__all__ = ["random_crop_with_constraints"]
