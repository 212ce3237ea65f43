"""What a thread is within, where a function that was to be compiled is run operator by operator."""

from __future__ import annotations

import threading


class _Around(threading.local):
    """untraced: the function has no plan for its arguments; waiting: for now, so that its parts get none either."""

    untraced = False
    waiting = False


around = _Around()
