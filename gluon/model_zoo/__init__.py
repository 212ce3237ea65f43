"""Networks with published weights."""

from gluon.model_zoo import model_store, vision
