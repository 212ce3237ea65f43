"""Preparation of data sets."""

from gluoncv.utils.data import tracking
