"""LSTM with projection and bounds."""

from __future__ import annotations

from gluon.contrib.rnn import LSTMPCell

__all__ = ["LSTMPCellWithClip"]


class LSTMPCellWithClip(LSTMPCell):
    """An LSTMPCell whose cell stays within +-cell_clip and output within +-projection_clip (Peters et al., 2018).

    >>> net = gluonnlp.model.LSTMPCellWithClip(5, 2)
    >>> net.initialize()
    >>> output, states = net(nd.ones((1, 3)), net.begin_state(batch_size=1))
    >>> output.shape
    (1, 2)
    """

    def __init__(self, *args, cell_clip=None, projection_clip=None, **kwargs):
        super().__init__(*args, **kwargs)
        self._cell_clip = cell_clip
        self._projection_clip = projection_clip
