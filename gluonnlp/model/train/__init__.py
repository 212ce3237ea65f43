"""The networks in the form that training wants."""

from . import language_model
from .language_model import AWDRNN, StandardRNN

__all__ = [*language_model.__all__]
