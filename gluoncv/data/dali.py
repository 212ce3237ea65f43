"""Names of what GluonCV does by NVIDIA's DALI, for programs that import them; making one says what serves here."""

from core.base import MXNetError


class _ByDALI:
    """MXNetError, whatever the arguments."""

    instead = ""

    def __init__(self, *args, **kwargs):
        raise MXNetError(f"pictures are not prepared by DALI here: use {self.instead} (programs: without --dali)")


class SSDDALIPipeline(_ByDALI):
    """Augmentation of single shot detectors."""

    instead = "SSDDefaultTrainTransform in a DataLoader"


class COCODetectionDALI(_ByDALI):
    """COCO's pictures with boxes."""

    instead = "COCODetection in a DataLoader"
