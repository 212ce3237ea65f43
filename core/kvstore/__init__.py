"""Stores that sum gradients over contexts and processes, and hand out the results: `mx.kv.create("device")`."""

from core.kvstore.base import KVStoreBase, TestStore, create
from core.kvstore.kvstore import KVStore

__all__ = ["KVStore", "KVStoreBase", "TestStore", "create"]
