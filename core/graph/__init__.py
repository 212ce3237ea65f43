"""The graph compiler: what `hybridize()` runs.

The stages of compiling a block, one module each:

- `trace`: its Python runs once per signature on arrays without memory; every primitive operator that is applied on the
  way, and in the gradient rules on the way back, becomes a node.
- `passes`: functions from graph to graph, most of them rules (pattern, condition, replacement) of one rewriter
  (`rewrite`). `passes.PASSES` is their order, each with the reason for its place. In prediction `batch_norm` folds
  normalisation into convolutions, `epilogues` sums and activations into the products before them, `strides` leaves out
  places that no convolution reads, `joins` gives concatenations that go on from one another one memory, `stretches`
  hands nodes that follow one another to a library, and `packing` brings constant weights into the order of the kernel;
  convolutions with packed weights give channels-last results, which the kernels behind keep.
- `plan`: the graph as a flat list of kernel calls, written out as one Python function for the forward part and one for
  the backward part.
- `compiled`: plans by signature, and the one node that a call leaves on the tape. `shape_classes`: signatures that
  differ in lengths alone share a plan, in which these lengths are symbols.
- `memory`: which values share memory, and when it may be written to. `capture`: CUDA graphs. `explain`:
  the plan as a table.
The representation (`ir`) is small, and symbols and files that were read are made of it, too (`core.symbol`):

- `Value`: an array of known shape and dtype. It has a `role`: an INPUT of the call, a HELD array of the block (a
  parameter or a constant, read anew at each call: `Graph.arrays` are the arrays themselves), an output gradient, or the
  output of a NODE. `meta` is a tensor without memory of its shape, dtype and strides, on which forward rules can be run
  to infer more. A `Variable` is one with a name, of symbols, whose values have no `meta`.
- `Node`: an operator of the table, typed attributes, input values, output values. Random operators have a `Draw` as
  their `key`; every run draws keys anew, in the order of the draws. An operator that `reserves` has one more output,
  opaque, which the attributes of its gradient's node refer to. Nodes of operators that `mutates` are effects: they stay
  in order. Those of symbols have names.
- `Graph`: nodes in the order of execution, forward ones and then `backward` ones; `outputs`; `tracked` values with
  their `gradients`; `writes` to arrays from outside. `Graph.saved()` is what the backward part reads of the forward
  part.

A pass may replace nodes by nodes of other operators of the table and make values (`ir.apply` infers what they are).
What computes a node in a plan is found by `plan.lower`; kernels that only plans use are operators too, whose names
begin with `_plan_`, with forward rules that call `core.kernels`.
"""

from core.graph.versions import arrays_changed, rules_changed, values_changed

__all__ = ["Compiled", "arrays_changed", "explain", "rules_changed", "trace", "values_changed"]


def __getattr__(name: str):
    # The compiler is imported when the first block is compiled.
    if name == "Compiled":
        from core.graph.compiled import Compiled as found
    elif name == "trace":
        from core.graph.trace import trace as found
    elif name == "explain":
        from core.graph.explain import explain as found
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found
