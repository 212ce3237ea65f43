"""`core.store` under the name by which Gluon's toolkits know it."""

import sys

from core import store

sys.modules[__name__] = store
