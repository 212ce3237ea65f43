"""Crops of Pillow pictures as EfficientNet was trained with."""

import math
import random


class EfficientNetRandomCrop:
    """A random part of `area_range` of the picture's area, and of an aspect within `aspect_ratio_range`.

    min_covered: the least share of the picture. The middle, where `max_attempts` parts do not fit, and where one is all
    of it.
    """

    def __init__(
        self, imgsize, min_covered=0.1, aspect_ratio_range=(3.0 / 4, 4.0 / 3), area_range=(0.1, 1.0), max_attempts=10
    ):
        (low, high), (small, large) = aspect_ratio_range, area_range
        if not (min_covered > 0 and 0 < low <= high and 0 < small <= large and max_attempts >= 1):
            raise AssertionError("shares and ratios are above 0, ranges rise, and there is one attempt at least")
        self.min_covered, self.aspect_ratio_range = min_covered, aspect_ratio_range
        self.area_range, self.max_attempts = area_range, max_attempts
        self._fallback = EfficientNetCenterCrop(imgsize)

    def __call__(self, img):
        full_width, full_height = img.size
        whole = full_width * full_height
        smallest, largest = (share * whole for share in self.area_range)
        for _ in range(self.max_attempts):
            aspect = random.uniform(*self.aspect_ratio_range)
            lowest, highest = (round(math.sqrt(area / aspect)) for area in (smallest, largest))
            if highest * aspect > full_width:
                highest = int((full_width + 0.5 - 1e-7) / aspect)
                highest -= highest * aspect > full_width
            highest = min(highest, full_height)
            height = round(random.uniform(min(lowest, highest), highest))
            width = round(height * aspect)
            fits = width <= full_width and height <= full_height
            if not fits or not max(smallest, self.min_covered * whole) <= width * height <= largest:
                continue
            if (width, height) == img.size:
                break
            left, top = random.randint(0, full_width - width), random.randint(0, full_height - height)
            return img.crop((left, top, left + width, top + height))
        return self._fallback(img)


class EfficientNetCenterCrop:
    """The middle, a square of imgsize / (imgsize + 32) of the short side."""

    def __init__(self, imgsize):
        self.imgsize = imgsize

    def __call__(self, img):
        width, height = img.size
        side = float(self.imgsize) / (self.imgsize + 32) * min(width, height)
        left, top = round((width - side) / 2.0), round((height - side) / 2.0)
        return img.crop((left, top, left + side, top + side))
