"""The zoo's single shot detectors by name, made to look again; each function as that of `gluoncv.model_zoo`."""

from functools import partial

from gluoncv.model_zoo.model_zoo import get_model, get_model_list
from gluoncv.model_zoo.smot.ssd import SSD

ssd_base_models = {
    name: partial(get_model, name, detector=SSD)
    for name in get_model_list()
    if name.startswith("ssd_") and not name.endswith("_int8")
}
globals().update({name.replace(".", "_"): make for name, make in ssd_base_models.items()})
