"""Pictures with what networks found in them, drawn with matplotlib."""

from core.documentation.classes import complete as _complete
from gluoncv.utils.viz.bbox import cv_plot_bbox, plot_bbox
from gluoncv.utils.viz.image import cv_plot_image, plot_image
from gluoncv.utils.viz.keypoints import cv_plot_keypoints, plot_keypoints
from gluoncv.utils.viz.mask import cv_merge_two_images, expand_mask, plot_mask
from gluoncv.utils.viz.network import plot_mxboard, plot_network
from gluoncv.utils.viz.segmentation import DeNormalize, get_color_pallete

_complete(globals())
