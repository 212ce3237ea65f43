"""Transformations of pictures, boxes and masks, and those that networks were trained with (`presets`, `for_model`)."""

from core.base import MXNetError
from core.documentation.classes import complete as _complete
from gluoncv.data.transforms import bbox, block, experimental, image, mask, pose, presets, track, video
from gluoncv.data.transforms.block import RandomCrop, RandomErasing


def for_model(net):
    """How pictures (height, width, 3) of bytes become inputs (3, height, width) of a network of the model zoo.

    The transform for the first field of a data set, `data_set.transform_first(for_model(net))`. It is that of the
    network's weights where their source says so. MXNetError for networks that take more than a picture, or are not from
    the zoo.

    >>> from gluoncv.data.transforms import for_model
    >>> transform = for_model(gluoncv.model_zoo.get_model("cifar_resnet20_v1"))
    >>> transform(nd.zeros((40, 50, 3), dtype="uint8")).shape
    (3, 32, 32)
    """
    card = getattr(net, "card", None)
    if not hasattr(getattr(card, "preprocessing", None), "transform"):
        what = (
            f"{card.name}, a network for {card.task}, has inputs that are"
            if card
            else "a network that get_model did not make is"
        )
        raise MXNetError(f"{what} not described by one picture; see gluoncv.data.transforms.presets")
    return card.preprocessing.transform()


_complete(globals())
