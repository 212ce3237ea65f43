"""ADE20K."""

from gluoncv.data.ade20k.segmentation import ADE20KSegmentation
