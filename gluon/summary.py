"""The table of `Block.summary`."""

from __future__ import annotations

from core.ndarray import NDArray

WIDTH = 80
ROW = "{:>20}  {:>42} {:>15}"


def print_summary(block, inputs):
    """Runs `inputs` through the block and prints a row for every layer; AssertionError when it is hybridized."""
    rows = [("Input", _shapes(inputs), 0)]
    seen, hooks = set(), []
    totals = {"all": 0, "trainable": 0, "shared": 0}

    def report(layer, _, outputs):
        size = 0
        for parameter in layer.params.values():
            n = parameter.data().size
            size += n
            totals["trainable"] += n if parameter.grad_req != "null" else 0
            totals["shared"] += n if parameter in seen else 0
            seen.add(parameter)
        totals["all"] += size
        rows.append((f"{type(layer).__name__}-{len(rows)}", _shapes(outputs), size))

    def watch(layer):
        if getattr(layer, "_active", False):
            raise AssertionError(f"{layer.name!r} is hybridized; a summary is made before hybridize()")
        if type(layer).__name__ not in ("Sequential", "HybridSequential"):
            hooks.append(layer.register_forward_hook(report))

    try:
        block.apply(watch)
        block(*inputs)
    finally:
        for hook in hooks:
            hook.detach()
    print("-" * WIDTH)
    print(ROW.format("Layer (type)", "Output Shape", "Param #"))
    print("=" * WIDTH)
    for row in rows:
        print(ROW.format(*map(str, row)))
    print("=" * WIDTH)
    print("Parameters in forward computation graph, duplicate included")
    print(f"   Total params: {totals['all']}")
    print(f"   Trainable params: {totals['trainable']}")
    print(f"   Non-trainable params: {totals['all'] - totals['trainable']}")
    print(f"Shared params in forward computation graph: {totals['shared']}")
    print(f"Unique parameters in model: {totals['all'] - totals['shared']}")
    print("-" * WIDTH)


def _shapes(values):
    """Shapes of nested arrays as text, without the outermost brackets of a list."""

    def shape(value):
        if isinstance(value, (list, tuple)):
            return [shape(part) for part in value]
        return value.shape if isinstance(value, NDArray) else value

    shapes = shape(values)
    if isinstance(shapes, list) and len(shapes) == 1:
        return str(shapes[0])
    return str(shapes)[1:-1] if isinstance(shapes, list) else str(shapes)
