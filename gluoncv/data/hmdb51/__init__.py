"""HMDB51."""

from gluoncv.data.hmdb51.classification import HMDB51
