"""Connectionist temporal classification.

Comparisons are written as operators, which give numbers for `nd` and `np` arrays alike.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from core import kernels
from core.dtypes import HALF, dtype_name
from core.ops.attributes import Bool, Choice, Int
from core.ops.registry import F, composite, decompose, gradient, gradients_through, infer, operator, takes
from core.ops.shape import expect_shape
from core.ops.values import Attrs, Gradients, Namespace, Tensor, Value

K = kernels.ctc

# Stands for the logarithm of 0: sums of it do not overflow, and no difference of it is nan.
IMPOSSIBLE = -1e30


@composite(
    "CTCLoss", aliases=("ctc_loss", "_contrib_CTCLoss", "_contrib_ctc_loss"), numbered=True,
    when={"data_lengths": ("use_data_lengths", True), "label_lengths": ("use_label_lengths", True)},
)  # fmt: skip
def ctc_loss(
    data: Value, label: Value, data_lengths: Value | None = None, label_lengths: Value | None = None, *,
    use_data_lengths: Bool = False, use_label_lengths: Bool = False,
    blank_label: Annotated[str, Choice("first", "last")] = "first",
) -> Value:  # fmt: skip
    """-log of the probability of each label sequence (Graves et al., 2006): (N,).

    data (T, N, C): scores, of which the softmax is taken here. label (N, L): classes; where no lengths are given a row
    ends at its first 0 (blank "first", class 0) or -1 (blank "last", class C - 1). The loss is 0 where the labels need
    more steps than there are.
    """
    if dtype_name(data.dtype) in HALF:  # their range does not hold IMPOSSIBLE, nor float16 every class exactly
        wide = F.CTCLoss(
            F.Cast(data, dtype="float32"), label, data_lengths, label_lengths, use_data_lengths=use_data_lengths,
            use_label_lengths=use_label_lengths, blank_label=blank_label,
        )  # fmt: skip
        return _like(wide, data)
    label = _like(label, data)
    if use_label_lengths:
        count = _like(label_lengths, data)
    else:
        count = _leading(label, 0.0 if blank_label == "first" else -1.0)
    last = _like(data_lengths, data) if use_data_lengths else None
    if last is not None:  # what comes after the end may be anything, nan too
        data = F.SequenceMask(data, last, use_sequence_length=True)
    return F._ctc_loss(data, label, count, last, blank=0 if blank_label == "first" else data.shape[2] - 1)


@takes(ctc_loss)
def _ctc_loss_takes(attrs: Attrs) -> list[str]:  # without data lengths the label lengths are the third input
    return ["data", "label", *(n for n in ("data_lengths", "label_lengths") if attrs[f"use_{n}"])]


@infer(ctc_loss)
def _ctc_loss_shapes(shapes: dict[str, Any], attrs: Attrs) -> None:
    if shapes["data"] is not None:
        batch = (shapes["data"][1],)
        for name, used in (("data_lengths", "use_data_lengths"), ("label_lengths", "use_label_lengths")):
            if attrs[used]:
                shapes[name] = batch


# ---------------------------------------------------------------------------------------------- the loss


@operator("_ctc_loss", memory="new")
def _ctc_loss(data: Tensor, label: Tensor, count: Tensor, last: Tensor | None = None, *, blank: Int) -> Tensor:
    """The loss (N,) of scores data (T, N, C) for the first `count` (N,) of label (N, L), over `last` (N,) steps."""
    batch = data.shape[1]
    expect_shape("CTCLoss", "a label", label, (batch, label.shape[1]))
    for lengths in (count, last):
        if lengths is not None:
            expect_shape("CTCLoss", "an array of lengths", lengths, (batch,))
    return K.loss(data, label, count, last, blank)


@gradient(_ctc_loss)
def _ctc_loss_gradient(dy: Value, data: Value, label: Value, count: Value, last: Value, attrs: Namespace) -> Gradients:
    return [F._ctc_loss_grad(dy, data, label, count, last, blank=attrs.blank), None, None, None]


@operator("_ctc_loss_grad", memory="new")
def _ctc_loss_grad(
    dy: Tensor, data: Tensor, label: Tensor, count: Tensor, last: Tensor | None = None, *, blank: Int
) -> Tensor:
    """Gradient of the loss with respect to data."""
    return K.loss_grad(dy, data, label, count, last, blank)


@decompose(_ctc_loss_grad)
def _ctc_loss_grad_decompose(
    dy: Value, data: Value, label: Value, count: Value, last: Value | None = None, *, blank: int
) -> Sequence[Value]:
    return gradients_through(lambda x: _expression(x, label, count, last, blank), [data], [dy], [True])


def _expression(data: Value, label: Value, count: Value, last: Value | None, blank: int) -> Value:
    """The loss as an expression over other operators, which second derivatives differentiate."""
    (steps, batch, classes), places = data.shape, label.shape[1]
    if not batch:
        return F.sum(data, axis=(0, 2))
    count = F._minimum_scalar(count, scalar=places)
    # Labels with blanks between them: place s of 2 L + 1 holds a label where s is odd.
    position = F.Reshape(_like(F._arange_like(label, length=places), data), shape=(1, -1))
    used = F.broadcast_lesser(position, F.Reshape(count, shape=(-1, 1)))
    label = F.where(used, label, F.zeros_like(label))
    blanks = F.zeros_like(label) + float(blank)
    extended = F.Reshape(F.stack(blanks, label, axis=2), shape=(batch, 2 * places))
    last_blank = F.expand_dims(_like(F.zeros_like(count), label) + float(blank), axis=1)
    extended = F.Concat(extended, last_blank, dim=1)
    logs = F.swapaxes(F.log_softmax(data, axis=-1), dim1=0, dim2=1)
    chosen = F.swapaxes(F.one_hot(extended, depth=classes, dtype=dtype_name(data.dtype)), dim1=1, dim2=2)
    logs = F.batch_dot(logs, chosen)  # (N, T, 2 L + 1)

    repeated, jumps = _jumps(label, used, places)
    alpha = _step(logs, 0)
    start = F._lesser_scalar(F.Reshape(F._arange_like(alpha, length=2 * places + 1), shape=(1, -1)), scalar=2.0)
    alpha = F.where(F.broadcast_like(start, alpha), alpha, F.zeros_like(alpha) + IMPOSSIBLE)
    for t in range(1, steps):
        by_jump = F.broadcast_add(_moved(alpha, 2), jumps) if places else _moved(alpha, 2)
        new = _log_sum(alpha, _moved(alpha, 1), by_jump) + _step(logs, t)
        if last is None:
            alpha = new
        else:
            going_on = F.broadcast_like(F.Reshape(F._greater_scalar(last, scalar=t), shape=(-1, 1)), new)
            alpha = F.where(going_on, new, alpha)

    at_blank = F.pick(alpha, 2 * count, axis=1)
    at_label = F.where(
        F._greater_scalar(count, scalar=0.0), F.pick(alpha, 2 * count - 1, axis=1), F.zeros_like(at_blank) + IMPOSSIBLE
    )
    loss = -_log_sum(at_blank, at_label)
    needed = count + repeated
    enough = F._lesser_equal_scalar(needed, scalar=steps) if last is None else F.broadcast_lesser_equal(needed, last)
    return F.where(enough, loss, F.zeros_like(loss))


def _like(x: Value | None, data: Value) -> Value:
    return F.Cast(x, dtype=dtype_name(data.dtype))


def _leading(label: Value, end: float) -> Value:
    """How many places of each row come before the first `end`."""
    alive, count = None, F.sum(F.zeros_like(label), axis=1)
    for j in range(label.shape[1]):
        here = F._not_equal_scalar(F.Reshape(F.slice_axis(label, axis=1, begin=j, end=j + 1), shape=(-1,)), scalar=end)
        alive = here if alive is None else alive * here
        count = count + alive
    return count


def _jumps(label: Value, used: Value, places: int) -> tuple[Value, Value]:
    """(how many labels repeat the one before, 0 or IMPOSSIBLE for each place where a path may jump from two before)."""
    zeros = F.zeros_like(label)
    if places < 2:
        same = zeros
    else:
        before = F.slice_axis(label, axis=1, begin=0, end=places - 1)
        after = F.slice_axis(label, axis=1, begin=1, end=places)
        same = F.broadcast_equal(before, after) * F.slice_axis(used, axis=1, begin=1, end=places)
        same = F.Concat(F.slice_axis(zeros, axis=1, begin=0, end=1), same, dim=1)
    forbidden = F.zeros_like(label) + IMPOSSIBLE
    jumps = F.Reshape(F.stack(forbidden, same * IMPOSSIBLE, axis=2), shape=(label.shape[0], 2 * places))
    jumps = F.Concat(jumps, F.slice_axis(forbidden, axis=1, begin=0, end=1), dim=1)
    return F.sum(same, axis=1), jumps


def _step(logs: Value, t: int) -> Value:
    return F.Reshape(F.slice_axis(logs, axis=1, begin=t, end=t + 1), shape=(0, -1))


def _moved(alpha: Value, by: int) -> Value:
    """The values of `by` places before; impossible for the first ones."""
    size = alpha.shape[1]
    by = min(by, size)
    edge = F.zeros_like(F.slice_axis(alpha, axis=1, begin=0, end=by)) + IMPOSSIBLE
    return edge if by == size else F.Concat(edge, F.slice_axis(alpha, axis=1, begin=0, end=size - by), dim=1)


def _log_sum(*terms: Value) -> Value:
    """log(sum(exp(terms)))."""
    highest = terms[0]
    for term in terms[1:]:
        highest = F.broadcast_maximum(highest, term)
    highest = F.BlockGrad(highest)
    total = F.exp(terms[0] - highest)
    for term in terms[1:]:
        total = total + F.exp(term - highest)
    return highest + F.log(total)
