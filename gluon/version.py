"""The version of this project, here alone; `core.__version__` is that of the MXNet whose behaviour it has."""

__version__ = "0.1.0"
