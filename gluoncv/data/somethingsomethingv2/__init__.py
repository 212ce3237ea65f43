"""Something-Something, version 2."""

from gluoncv.data.somethingsomethingv2.classification import SomethingSomethingV2
