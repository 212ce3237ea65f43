"""`DataParallelExecutorGroup`: one executor for each context, each with its slice of the batch."""

from __future__ import annotations

import logging

from core import ndarray as nd
from core.dtypes import dtype_name
from core.executor import Executor, row_sparse_gradients
from core.executor_manager import _split_input_slice
from core.io import DataDesc

_STYPES = {"1": "row_sparse", "2": "csr"}


class DataParallelExecutorGroup:
    """Executors of one symbol on several contexts.

    data_shapes, label_shapes: lists of `DataDesc`. workload: how large a share of the batch each context gets.
    shared_group: another group whose parameters (and inputs, where they fit) are used instead of new arrays.
    param_arrays, grad_arrays, aux_arrays: for each name the arrays of all contexts.
    """

    def __init__(self, symbol, contexts, workload, data_shapes, label_shapes, param_names, for_training,
                 inputs_need_grad, shared_group=None, logger=logging, fixed_param_names=None, grad_req="write",
                 state_names=None, group2ctxs=None):  # fmt: skip
        self.symbol, self.contexts, self.workload = symbol, contexts, workload
        self.param_names, self.state_names = param_names, state_names or []
        self.arg_names, self.aux_names = symbol.list_arguments(), symbol.list_auxiliary_states()
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self.logger = logger
        self.fixed_param_names = fixed_param_names or []
        self.group2ctxs = group2ctxs
        self.grad_req = self._requests(grad_req, [DataDesc(*d)[0] for d in data_shapes])
        # By context the arrays of the inputs by name; groups that share see the same dictionaries.
        self.shared_data_arrays = [{} for _ in contexts] if shared_group is None else shared_group.shared_data_arrays
        self.output_layouts = [_batch_axis(symbol[i].attr("__layout__")) for i in range(len(symbol))]
        self.execs, self._total_exec_bytes = [], 0
        self.bind_exec(data_shapes, label_shapes, shared_group)

    def _requests(self, grad_req, data_names):
        requests = dict.fromkeys(self.arg_names, "null")
        if not self.for_training:
            return requests
        if isinstance(grad_req, (list, tuple)):
            grad_req = dict(zip(self.arg_names, grad_req, strict=True))
        if not isinstance(grad_req, (str, dict)):
            raise ValueError(f"grad_req is a string, a list or a dictionary, got {grad_req!r}")
        for name in self.arg_names:
            if name in self.param_names:
                default = "null" if name in self.fixed_param_names else "write"
            else:
                default = "write" if name in data_names and self.inputs_need_grad else "null"
            given = grad_req.get(name, default) if isinstance(grad_req, dict) else grad_req
            requests[name] = given if isinstance(grad_req, dict) or default != "null" else "null"
        return requests

    # ------------------------------------------------------------------ binding

    def bind_exec(self, data_shapes, label_shapes, shared_group=None, reshape=False):
        """Makes the executors for inputs of these shapes."""
        data_shapes, label_shapes = _described(data_shapes), _described(label_shapes)
        self.decide_slices(data_shapes)
        self.label_layouts = [_batch_axis(d.layout) for d in label_shapes]
        self.data_shapes, self.label_shapes = data_shapes, label_shapes or None
        lenders = self.execs if reshape else shared_group.execs if shared_group is not None else None
        self.execs = [self._bind(i, None if lenders is None else lenders[i]) for i in range(len(self.contexts))]
        for executor, reshaped in zip(self.execs, lenders if reshape else ()):
            executor.be_watched_like(reshaped)
        self._collect_arrays()

    def reshape(self, data_shapes, label_shapes):
        """Goes on with other input shapes and the same parameters."""
        if _described(data_shapes) != self.data_shapes or (_described(label_shapes) or None) != self.label_shapes:
            self.bind_exec(data_shapes, label_shapes, reshape=True)

    def decide_slices(self, data_shapes):
        """Decides which samples each context gets; returns the batch axes of the inputs, -1 where there is none."""
        if not data_shapes:
            raise AssertionError("a module needs at least one input")
        self.data_layouts = axes = [_batch_axis(d.layout) for d in data_shapes]
        sizes = {d.shape[axis]: d.name for d, axis in zip(data_shapes, axes) if axis != -1}
        if len(sizes) > 1:
            raise AssertionError(f"all inputs are to have one batch size, but the shapes are {data_shapes}")
        self.batch_size = next(iter(sizes), None)
        self.slices = (
            _split_input_slice(self.batch_size, self.workload) if sizes else [slice(None)] * len(self.workload)
        )
        return axes

    def _bind(self, i, lender):
        shapes, types = {}, {}
        for descriptions, axes in (
            (self.data_shapes, self.data_layouts),
            (self.label_shapes or [], self.label_layouts),
        ):
            for description, axis in zip(descriptions, axes):
                shapes[description.name] = self._sliced(description.shape, axis, i)
                types[description.name] = description.dtype
        known = set(self.arg_names)
        shapes = {name: shape for name, shape in shapes.items() if name in known}
        arg_shapes, _, aux_shapes = self.symbol.infer_shape(**shapes)
        if arg_shapes is None:
            raise ValueError(f"the shapes of the parameters do not follow from those of the inputs: {shapes}")
        arg_types, _, aux_types = self.symbol.infer_type_partial(**{n: t for n, t in types.items() if n in known})
        attributes = self.symbol.attr_dict()
        stypes = {n: _STYPES.get(a.get("__storage_type__"), "default") for n, a in attributes.items()}
        own, inputs, groups = self.contexts[i], self.shared_data_arrays[i], _groups(self.group2ctxs, i)
        contexts = {n: groups[a["__ctx_group__"]] for n, a in attributes.items() if a.get("__ctx_group__") in groups}
        args, grads, aux, few = {}, {}, {}, row_sparse_gradients(self.symbol._entries, stypes)
        for name, shape, kind in zip(self.arg_names, arg_shapes, arg_types):
            kind, stype = dtype_name(kind or "float32"), stypes.get(name, "default")
            lent = inputs.get(name) if name not in self.param_names else lender and lender.arg_dict.get(name)
            if lent is not None and lent.shape != shape and name in self.param_names:
                raise AssertionError(f"parameter {name!r} has shape {lent.shape}; these inputs need {shape}")
            fits = lent is not None and lent.shape == shape and dtype_name(lent.dtype) == kind
            ctx = contexts.get(name, own)
            args[name] = lent if fits else nd.zeros(shape, ctx, kind, stype=stype)
            if name not in self.param_names:
                inputs[name] = args[name]
            if self.grad_req[name] != "null":
                lent = lender and lender.grad_dict.get(name)
                fits = lent is not None and lent.shape == shape and dtype_name(lent.dtype) == kind
                # An input's gradient is dense.
                by_rows = name in few or stype == "row_sparse"
                grads[name] = lent if fits else nd.zeros(shape, ctx, kind, stype="row_sparse" if by_rows else None)
        for name, shape, kind in zip(self.aux_names, aux_shapes, aux_types):
            lent = lender and lender.aux_dict.get(name)
            if lent is None:
                lent = nd.zeros(shape, contexts.get(name, own), dtype_name(kind or "float32"))
            aux[name] = lent
        return Executor(self.symbol, own, args, grads, self.grad_req, aux, groups)

    def _sliced(self, shape, axis, i):
        part = self.slices[i]
        if axis == -1 or part == slice(None):
            return tuple(shape)
        return (*shape[:axis], part.stop - part.start, *shape[axis + 1 :])

    def _collect_arrays(self):
        def rows(names, which):
            return [[which(e).get(name) for e in self.execs] for name in names]

        data_names = [d.name for d in self.data_shapes]
        self.state_arrays = rows(self.state_names, lambda e: e.arg_dict)
        params = [name for name in self.arg_names if name in self.param_names]
        self.param_arrays = rows(params, lambda e: e.arg_dict)
        self.grad_arrays = rows(params, lambda e: e.grad_dict)
        self.aux_arrays = rows(self.aux_names, lambda e: e.aux_dict)
        self.input_grad_arrays = rows(data_names, lambda e: e.grad_dict) if self.inputs_need_grad else None

    # ------------------------------------------------------------------ parameters

    def set_params(self, arg_params, aux_params, allow_extra=False):
        """Copies parameters to all contexts."""
        for executor in self.execs:
            executor.copy_params_from(arg_params, aux_params, allow_extra_params=allow_extra)

    def get_params(self, arg_params, aux_params):
        """Writes the means over contexts to arrays by name."""
        params = [name for name in self.arg_names if name in self.param_names]
        for names, rows, into in (
            (params, self.param_arrays, arg_params),
            (self.aux_names, self.aux_arrays, aux_params),
        ):
            for name, copies in zip(names, rows):
                target = into[name]
                mean = copies[0].as_in_context(target.context)
                if len(copies) > 1:
                    for other in copies[1:]:
                        mean = mean + other.as_in_context(target.context)
                    mean = mean / len(copies)
                mean.copyto(target)

    # ------------------------------------------------------------------ computation

    def forward(self, data_batch, is_train=None):
        """Slices a batch over the contexts and computes the outputs."""
        self._load(data_batch.data, self.data_shapes, self.data_layouts)
        is_train = self.for_training if is_train is None else is_train
        labels = getattr(data_batch, "label", None)
        if self.label_shapes and labels:
            self._load(labels, self.label_shapes, self.label_layouts)
        for executor in self.execs:
            executor.forward(is_train=is_train)

    def _load(self, arrays, descriptions, axes):
        for array, description, axis in zip(arrays, descriptions, axes):
            for i, executor in enumerate(self.execs):
                target = executor.arg_dict.get(description.name)
                if target is None:
                    continue
                piece = array[i] if isinstance(array, (list, tuple)) else self._slice(array, axis, i)
                piece.copyto(target)

    def _slice(self, array, axis, i):
        part = self.slices[i]
        if axis == -1 or len(self.execs) == 1 or part == slice(None):
            return array
        if axis == 0:
            return array[part]
        return nd.slice_axis(array, axis=axis, begin=part.start, end=part.stop)

    def backward(self, out_grads=None):
        """Computes the gradients; out_grads: those of the outputs, for the whole batch."""
        if not self.for_training:
            raise AssertionError("bind with for_training=True before running backward")
        if isinstance(out_grads, nd.NDArray):
            out_grads = [out_grads]
        for i, executor in enumerate(self.execs):
            pieces = None
            if out_grads:
                pieces = [
                    (g[i] if isinstance(g, (list, tuple)) else self._slice(g, axis, i)).as_in_context(self.contexts[i])
                    for g, axis in zip(out_grads, self.output_layouts)
                ]
            executor.backward(pieces)

    def get_outputs(self, merge_multi_context=True, begin=0, end=None):
        """The outputs, joined over contexts, or for each output those of all contexts."""
        rows = [[e.outputs[k] for e in self.execs] for k in range(len(self.symbol))[begin:end]]
        return _merge(rows, self.output_layouts[begin:end]) if merge_multi_context else rows

    def get_output_shapes(self):
        """(name, shape) of the outputs for the whole batch."""
        shapes = {d.name: d.shape for d in (*self.data_shapes, *(self.label_shapes or [])) if d.name in self.arg_names}
        return list(zip(self.symbol.list_outputs(), self.symbol.infer_shape(**shapes)[1], strict=True))

    def get_input_grads(self, merge_multi_context=True):
        """The gradients of the inputs."""
        if not self.inputs_need_grad:
            raise AssertionError("bind with inputs_need_grad=True to get gradients of the inputs")
        return _merge(self.input_grad_arrays, self.data_layouts) if merge_multi_context else self.input_grad_arrays

    def get_states(self, merge_multi_context=True):
        """The states of all contexts."""
        if merge_multi_context:
            raise AssertionError("states of several contexts cannot be merged: merge_multi_context=False")
        return self.state_arrays

    def set_states(self, states=None, value=None):
        """Sets the states to arrays (for each state those of all contexts) or to one value."""
        if (states is None) == (value is None):
            raise AssertionError("give either states or a value")
        for k, targets in enumerate(self.state_arrays):
            for i, target in enumerate(targets):
                if states is None:
                    target[:] = value
                else:
                    states[k][i].copyto(target)

    def update_metric(self, eval_metric, labels, pre_sliced=False):
        """Feeds a metric with the outputs and labels of each context in turn."""
        names, outputs = [d.name for d in self.label_shapes or []], self.symbol.list_outputs()
        for i, executor in enumerate(self.execs):
            if pre_sliced:
                part = labels[i]
            else:
                axes = self.label_layouts or [0] * len(labels)
                part = [self._slice(label, axis, i) for label, axis in zip(labels, axes)]
            given = dict(zip(names, part)) if names else dict(enumerate(part))
            eval_metric.update_dict(given, dict(zip(outputs, executor.outputs)))

    def install_monitor(self, mon):
        """Lets a `Monitor` watch all executors."""
        for executor in self.execs:
            mon.install(executor)


def _described(shapes) -> list[DataDesc]:
    return [d if isinstance(d, DataDesc) else DataDesc(*d) for d in shapes or []]


def _groups(group2ctxs, i: int) -> dict:
    """The contexts of the attribute `ctx_group` for executor `i`: from one dictionary, or one for each executor."""
    if isinstance(group2ctxs, (list, tuple)):
        return group2ctxs[i] or {}
    return {g: c[i] if isinstance(c, (list, tuple)) and len(c) > 1 else c[0] if isinstance(c, (list, tuple)) else c
            for g, c in (group2ctxs or {}).items()}  # fmt: skip


def _batch_axis(layout):
    return DataDesc.get_batch_axis(layout)


def _merge(rows, axes):
    """Parts of several contexts joined along the batch axis, on the first of them."""
    merged = []
    for parts, axis in zip(rows, axes):
        if len(parts) == 1 or axis < 0:
            merged.append(parts[0])
        else:
            context = parts[0].context
            merged.append(nd.concatenate([part.as_in_context(context) for part in parts], axis=axis))
    return merged
