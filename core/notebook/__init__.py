"""Callbacks that show in a notebook how training goes; pandas and bokeh are imported when they are made."""

from core.notebook import callback
