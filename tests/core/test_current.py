"""Scopes of names and attributes, and the default context: one of each for every thread."""

import platform
import resource
import threading

import pytest

import core as mx


def in_a_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def test_current_instances_are_attributes_of_their_classes():
    before = mx.AttrScope.current
    try:
        mx.AttrScope.current = mx.AttrScope(stage="first")
        assert mx.sym.var("a").attr("stage") == "first"
        assert in_a_thread(lambda: mx.AttrScope.current.get()) == {}
    finally:
        mx.AttrScope.current = before
    with mx.name.Prefix("net_") as prefix:
        assert mx.name.NameManager.current is prefix
        assert mx.name.NameManager.current.get(None, "fc") == "net_fc0"
        assert in_a_thread(lambda: mx.name.NameManager.current.get(None, "fc")) == "fc0"


def test_the_default_context_can_be_assigned():
    before = mx.Context.default_ctx
    try:
        mx.Context.default_ctx = mx.cpu(3)
        assert mx.current_context() == mx.cpu(3) == mx.nd.ones((1,)).context
        assert in_a_thread(lambda: mx.Context.default_ctx) == mx.cpu(0)
    finally:
        mx.Context.default_ctx = before


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator has its own policy")
def test_freed_memory_goes_back_when_asked():
    def held():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    arrays = [mx.nd.ones((1000, 1000)) for _ in range(60)]
    mx.nd.waitall()
    kept, arrays = arrays[::10], None  # so that what is free lies between blocks in use
    before = held()
    mx.cpu().empty_cache()
    assert held() < before - 100_000_000
    del kept


@pytest.mark.parametrize("kind", [mx.AttrScope, mx.name.NameManager])
def test_programs_for_mxnet_1_reach_the_current_instance_by_value(kind):
    """MXNet 1.9.1 keeps it in `_current.value`, also in a new thread."""
    assert in_a_thread(lambda: kind._current.value is kind.current)
    before, kind._current.value = kind._current.value, kind()
    try:
        assert kind.current is kind._current.value is not before
    finally:
        kind.current = before


def test_the_scope_of_arrays_is_assigned_by_value():
    scope = mx.util._NumpyArrayScope
    try:
        scope._current.value = scope(True)
        assert mx.util.is_np_array() and scope._current.value._is_np_array
    finally:
        scope._current.value = scope(False)
    assert not mx.util.is_np_array()
