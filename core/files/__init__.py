"""Files: what this project reads and writes on disk, as NumPy arrays and plain containers.

Nothing here executes what it loads, takes more memory than the file can justify, or leaves half a file
behind. One module a format; the functions of users (`nd.save`, `Trainer.save_states`, ...) turn arrays into records.
"""

from core.files.atomic import replacing, write_bytes
from core.files.params import Record, load_params, read_params, write_params
from core.files.pickles import Instance, read_pickle
from core.files.reader import Reader
from core.files.safetensors import read_safetensors, write_safetensors
from core.files.states import read_states, write_mxnet_states, write_states
from core.files.torch_files import read_torch

__all__ = [
    "Instance", "Reader", "Record", "load_params", "read_params", "read_pickle", "read_safetensors", "read_states",
    "read_torch", "replacing", "write_bytes", "write_mxnet_states", "write_params", "write_safetensors", "write_states",
]  # fmt: skip
