"""Loggers with a short, coloured head: level, time, place."""

from __future__ import annotations

import logging
import sys

CRITICAL, ERROR, WARNING, INFO, DEBUG, NOTSET = (
    logging.CRITICAL, logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG, logging.NOTSET,
)  # fmt: skip
_COLOURS = ((WARNING, "\x1b[31m"), (INFO, "\x1b[32m"), (NOTSET, "\x1b[34m"))


class _Formatter(logging.Formatter):
    def __init__(self, coloured: bool):
        super().__init__(datefmt="%m%d %H:%M:%S")
        self._coloured = coloured

    def format(self, record):
        head = f"{record.levelname[0]}%(asctime)s %(process)d %(pathname)s:%(funcName)s:%(lineno)d"
        if self._coloured:
            colour = next(code for level, code in _COLOURS if record.levelno >= level)
            head = f"{colour}{head}\x1b[0m"
        self._style._fmt = f"{head} %(message)s"
        return super().format(record)


def get_logger(name=None, filename=None, filemode=None, level=WARNING) -> logging.Logger:
    """The logger `name`, which from its first use on writes to `filename`, or to the standard error."""
    logger = logging.getLogger(name)
    if name is not None and not getattr(logger, "_init_done", False):
        logger._init_done = True
        handler = logging.FileHandler(filename, filemode or "a") if filename else logging.StreamHandler()
        handler.setFormatter(_Formatter(not filename and getattr(sys.stderr, "isatty", lambda: False)()))
        logger.addHandler(handler)
        logger.setLevel(level)
    return logger


getLogger = get_logger
