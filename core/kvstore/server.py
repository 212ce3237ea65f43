"""Parameter servers, of which there are none: processes sum gradients among themselves."""

from core.base import NotSupportedError


class KVStoreServer:
    """Refuses: stores named "dist_..." need no process that serves."""

    def __init__(self, kvstore):
        raise NotSupportedError(
            "KVStoreServer: there are no processes that hold parameters for others; start workers alone "
            "(scripts/launch.py -n N, or torchrun) and give them kvstore='dist_sync'"
        )
