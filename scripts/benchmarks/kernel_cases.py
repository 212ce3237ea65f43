"""What `scripts/benchmarks/kernels.py` measures: kernels and shapes as tables, each beside PyTorch's way to it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import torch
from torch.nn import functional as tf

from core import kernels
from core.kernels import formula as fx
from core.kernels import shape
from core.kernels.row_program import Result, RowProgram
from scripts.benchmarks.kernel_case import BYTES, Case, Lab, table
from scripts.benchmarks.kernel_cases_linalg import linear_algebra
from scripts.benchmarks.kernel_cases_places import detection, deterministic, embeddings

aten = torch.ops.aten


def cases(lab: Lab) -> Iterator[Case]:
    """All of them; inputs are drawn when a case is run."""
    for family in (
        products, convolutions, normalized, depthwise, pointwise, rows, norms, softmaxes, dropouts, embeddings, reductions,
        transposes, optimizers, attentions, recurrent, detection, linear_algebra, deterministic,
    ):  # fmt: skip
        yield from family(lab)


# ---------------------------------------------------------------- matrix products

# (name, batch, M, N, K): cubes; BERT-base at 4096 tokens: projections, both layers of the feed-forward part, and the
# products of attention for 32 sequences of 128 tokens in 12 heads of 64.
PRODUCTS = [
    ("4096 cubed", 0, 4096, 4096, 4096),
    ("8192 cubed", 0, 8192, 8192, 8192),
    ("BERT projection", 0, 4096, 768, 768),
    ("BERT feed-forward 1", 0, 4096, 3072, 768),
    ("BERT feed-forward 2", 0, 4096, 768, 3072),
    ("BERT scores, batched", 384, 128, 128, 64),
    ("BERT values, batched", 384, 128, 64, 128),
]
TINY = (33, 17, 19), (40, 24, 72)  # M, N, K in turns: rows that begin anywhere, and at multiples of 16 bytes


def products(lab: Lab) -> Iterator[Case]:
    some = [
        (name, lab.extent(batch, 2), *map(lab.extent, full, tiny))
        for (name, batch, *full), tiny in zip(PRODUCTS, itertools.cycle(TINY), strict=False)
    ]
    for (name, batch, m, n, k), ta, tb in itertools.product(some, (False, True), (False, True)):
        lead = (batch,) if batch else ()

        def make(lead=lead, m=m, n=n, k=k, ta=ta, tb=tb):
            a = lab.draw(*lead, *((k, m) if ta else (m, k)))
            return a, lab.draw(*lead, *((n, k) if tb else (k, n)))

        yield Case(
            "matmul",
            f"{name}, {'T' if ta else 'N'}{'T' if tb else 'N'}",
            make,
            lambda a, b, ta=ta, tb=tb: kernels.matmul.matmul(a, b, ta, tb),
            lambda a, b, ta=ta, tb=tb: torch.matmul(a.mT if ta else a, b.mT if tb else b),
            flops=2 * max(batch, 1) * m * n * k,
        )
    for name, batch, m, n, k in some:
        if not batch:
            yield Case(
                "linear with bias and gelu",
                name,
                lambda m=m, n=n, k=k: (lab.draw(m, k), lab.draw(n, k, scale=k**-0.5), lab.draw(n)),
                lambda x, w, b: kernels.matmul.linear(x, w, b, "gelu"),
                lambda x, w, b: tf.gelu(tf.linear(x, w, b)),
                flops=2 * m * n * k,
            )


# ---------------------------------------------------------------- convolutions

BATCH = 64
# The convolutions of ResNet-50 (He et al., 2015, table 1) with the stride in the 3x3 ones, for pictures of 224:
# (times in the network, inputs, outputs, kernel, stride, height of the input).
RESNET50 = [
    (1, 3, 64, 7, 2, 224),
    (1, 64, 64, 1, 1, 56), (3, 64, 64, 3, 1, 56), (4, 64, 256, 1, 1, 56), (2, 256, 64, 1, 1, 56),
    (1, 256, 128, 1, 1, 56), (1, 128, 128, 3, 2, 56), (4, 128, 512, 1, 1, 28), (1, 256, 512, 1, 2, 56),
    (3, 512, 128, 1, 1, 28), (3, 128, 128, 3, 1, 28),
    (1, 512, 256, 1, 1, 28), (1, 256, 256, 3, 2, 28), (6, 256, 1024, 1, 1, 14), (1, 512, 1024, 1, 2, 28),
    (5, 1024, 256, 1, 1, 14), (5, 256, 256, 3, 1, 14),
    (1, 1024, 512, 1, 1, 14), (1, 512, 512, 3, 2, 14), (3, 512, 2048, 1, 1, 7), (1, 1024, 2048, 1, 2, 14),
    (2, 2048, 512, 1, 1, 7), (2, 512, 512, 3, 1, 7),
]  # fmt: skip
# The depthwise ones of MobileNet (Howard et al., 2017, table 1): (times, channels, stride, height of the input).
MOBILENET = [
    (1, 32, 1, 112), (1, 64, 2, 112), (1, 128, 1, 56), (1, 128, 2, 56), (1, 256, 1, 28), (1, 256, 2, 28),
    (5, 512, 1, 14), (1, 512, 2, 14), (1, 1024, 1, 7),
]  # fmt: skip


def convolutions(lab: Lab) -> Iterator[Case]:
    for _, inputs, outputs, kernel, stride, size in RESNET50:
        yield from convolution(lab, "convolution", inputs, outputs, kernel, stride, size, 1)


def normalized(lab: Lab) -> Iterator[Case]:
    """Convolutions with the statistics of the batch normalization behind them, those whose results are the largest."""
    for _, inputs, outputs, kernel, stride, size in RESNET50[:4]:
        pad, extent = kernel // 2, lab.extent(size, 7)
        batch, read, made = lab.extent(BATCH, 2), lab.extent(inputs, 16), lab.extent(outputs, 16)

        def make(batch=batch, read=read, made=made, kernel=kernel, extent=extent):
            x, w = lab.draw(batch, read, extent, extent), lab.draw(made, read, kernel, kernel)
            one, two = (lab.draw(made, dtype=torch.float32) for _ in range(2))
            return *(t.to(memory_format=torch.channels_last) for t in (x, w)), one, two

        def ours(x, w, gamma, beta, stride=stride, pad=pad):
            how = (stride,) * 2, (1, 1), (pad,) * 2, 1
            return kernels.conv.conv_batch_norm(x, w, None, gamma, beta, *how, 1e-5)[1]

        def theirs(x, w, gamma, beta, stride=stride, pad=pad):
            return tf.batch_norm(tf.conv2d(x, w, None, stride, pad), None, None, gamma, beta, True, 0.1, 1e-5)

        out = (extent + 2 * pad - kernel) // stride + 1
        flops = 2 * batch * made * out**2 * read * kernel**2
        name = f"{inputs}>{outputs} {kernel}x{kernel}/{stride} at {size}"
        yield Case("convolution and batch norm", name, make, ours, theirs, flops=flops)


def depthwise(lab: Lab) -> Iterator[Case]:
    for _, channels, stride, size in MOBILENET:
        yield from convolution(lab, "depthwise convolution", channels, channels, 3, stride, size, channels)


def convolution(lab, family, inputs, outputs, kernel, stride, size, groups) -> Iterator[Case]:
    name = f"{inputs}>{outputs} {kernel}x{kernel}/{stride} at {size}"
    batch, size = lab.extent(BATCH, 1), lab.extent(size, 7)
    inputs, outputs, groups = lab.extent(inputs, 6), lab.extent(outputs, 6), lab.extent(groups, 6)
    out = (size + 2 * (kernel // 2) - kernel) // stride + 1
    x_shape, w_shape = (batch, inputs, size, size), (outputs, inputs // groups, kernel, kernel)
    strides, dilate, pad = (stride,) * 2, (1, 1), (kernel // 2,) * 2
    flops = 2 * batch * outputs * out**2 * (inputs // groups) * kernel**2

    def picture(channels, size):
        return lab.draw(batch, channels, size, size).to(memory_format=torch.channels_last)

    def weight():
        return lab.draw(*w_shape).to(memory_format=torch.channels_last)

    def gradient(dy, x, w, mask):
        options = (None, strides, pad, dilate, False, (0, 0), groups, mask)
        return next(g for g in aten.convolution_backward(dy, x, w, *options) if g is not None)

    def empty(like, shape):
        """The operand whose values a gradient does not read."""
        return torch.empty(shape, dtype=like.dtype, device=like.device, memory_format=torch.channels_last)

    yield Case(
        family,
        f"forward {name}",
        lambda: (picture(inputs, size), weight()),
        lambda x, w: kernels.conv.conv(x, w, None, strides, dilate, pad, groups),
        lambda x, w: tf.conv2d(x, w, None, strides, pad, dilate, groups),
        flops=flops,
    )
    yield Case(
        family,
        f"data gradient {name}",
        lambda: (picture(outputs, out), weight()),
        lambda dy, w: kernels.conv.conv_data_grad(dy, w, x_shape, strides, dilate, pad, groups),
        lambda dy, w: gradient(dy, empty(dy, x_shape), w, (True, False, False)),
        flops=flops,
    )
    yield Case(
        family,
        f"weight gradient {name}",
        lambda: (picture(outputs, out), picture(inputs, size)),
        lambda dy, x: kernels.conv.conv_weight_grad(dy, x, w_shape, strides, dilate, pad, groups),
        lambda dy, x: gradient(dy, x, empty(dy, w_shape), (False, True, False)),
        flops=flops,
    )


# ---------------------------------------------------------------- what memory decides


def pointwise(lab: Lab) -> Iterator[Case]:
    rows, columns = table(lab)

    def whole():
        return lab.draw(rows, columns)

    def chain(name, formula, theirs, make):
        formula = fx.Formula.of(formula, name=name.replace(" ", "_"))

        def ours(*operands):
            return kernels.pointwise.pointwise(formula, operands, (), operands[0].dtype)

        return Case("pointwise", name, make, ours, theirs)

    yield chain("add", lambda x, y: x + y, torch.add, lambda: (whole(), whole()))
    yield chain(
        "bias and gelu",
        lambda x, b: (x + b) * 0.5 * (1 + fx.erf((x + b) * 0.5**0.5)),
        lambda x, b: tf.gelu(x + b),
        lambda: (whole(), lab.draw(1, columns)),
    )
    yield chain(
        "gated sum",
        lambda x, y, z: fx.sigmoid(x) * fx.tanh(y) + z,
        lambda x, y, z: torch.sigmoid(x) * torch.tanh(y) + z,
        lambda: (whole(), whole(), whole()),
    )


def rows(lab: Lab) -> Iterator[Case]:
    """Reductions of rows with what surrounds them, as plans fuse them."""
    count, columns = table(lab)
    x, y, gamma = (fx.Expr("input", i) for i in range(3))
    top, total, mean = (fx.CONSTRUCTORS[f"row_{name}"] for name in ("fmax", "sum", "mean"))
    exponentials = fx.exp(x * 0.125 + y - top(x * 0.125 + y))
    centred = x + y - mean(x + y)
    normal = centred / fx.sqrt(mean(centred * centred) + 1e-5)
    gradient = y * gamma - mean(y * gamma) - x * mean(x * y * gamma)

    def case(name, results, make, theirs):
        def ours(*operands):
            shapes = {"whole": (count, columns), "column": (columns,)}
            kind = str(operands[0].dtype).removeprefix("torch.")
            found = [Result(root, what, shapes[what], kind) for root, what in results]
            found = kernels.pointwise.pointwise_rows(RowProgram(tuple(found), (count, columns), 1), operands)
            return found if len(found) > 1 else found[0]

        return Case("rows", name, make, ours, theirs)

    def whole():
        return lab.draw(count, columns)

    yield case(
        "scale, mask and softmax",
        [(exponentials / total(exponentials), "whole")],
        lambda: (whole(), lab.draw(1, columns)),
        lambda x, y: torch.softmax(x * 0.125 + y, 1),
    )
    yield case(
        "sum and layer norm",
        [(x + y, "whole"), (normal * gamma, "whole")],
        lambda: (whole(), whole(), lab.draw(columns)),
        lambda x, y, g: (x + y, tf.layer_norm(x + y, (columns,), g)),
    )
    yield case(
        "gradient of a layer norm with its columns",
        [(gradient, "whole"), (y * x, "column"), (y, "column")],
        lambda: (whole(), whole(), lab.draw(columns)),
        lambda x, y, g: (
            y * g - (y * g).mean(1, True) - x * (x * y * g).mean(1, True), (y * x).sum(0), y.sum(0)
        ),
    )  # fmt: skip


def norms(lab: Lab) -> Iterator[Case]:
    rows, columns = table(lab, 768)
    yield Case(
        "layer norm",
        "forward",
        lambda: (lab.draw(rows, columns), lab.draw(columns), lab.draw(columns)),
        lambda x, g, b: kernels.norm.layer_norm(x, g, b, 1, 1e-5)[0],
        lambda x, g, b: tf.layer_norm(x, (columns,), g, b, 1e-5),
    )

    def with_moments(x, dy, gamma, axes, eps=1e-5):
        var, mean = torch.var_mean(x.float(), axes, correction=0, keepdim=len(axes) == 1)
        return dy, x, gamma, mean, (var + eps).rsqrt()

    yield Case(
        "layer norm",
        "gradient",
        lambda: with_moments(lab.draw(rows, columns), lab.draw(rows, columns), lab.draw(columns), (1,)),
        lambda dy, x, g, mean, rstd: kernels.norm.layer_norm_grad(dy, x, g, mean, rstd, 1),
        lambda dy, x, g, mean, rstd: aten.native_layer_norm_backward(
            dy, x, (columns,), mean, rstd, g, torch.zeros_like(g), [True] * 3
        ),
    )
    # 64 pictures of 56 x 56, as wide as 256 MB allow.
    size = lab.extent(56, 5)
    channels = 6 if lab.tiny else BYTES // lab.dtype.itemsize // (BATCH * size * size)
    batch = lab.extent(BATCH, 2)

    def picture():
        return lab.draw(batch, channels, size, size).to(memory_format=torch.channels_last)

    def scale():
        return lab.draw(channels, dtype=torch.float32)

    yield Case(
        "batch norm",
        "forward",
        lambda: (picture(), scale(), scale()),
        lambda x, g, b: kernels.norm.batch_norm(x, g, b, 1, 1e-5)[0],
        lambda x, g, b: tf.batch_norm(x, None, None, g, b, True, 0.1, 1e-5),
        reread=2,
    )
    yield Case(
        "batch norm",
        "gradient",
        lambda: with_moments(picture(), picture(), scale(), (0, 2, 3)),
        lambda dy, x, g, mean, rstd: kernels.norm.batch_norm_grad(dy, x, g, mean, rstd, 1),
        lambda dy, x, g, mean, rstd: aten.native_batch_norm_backward(
            dy, x, g, None, None, mean, rstd, True, 1e-5, [True] * 3
        ),
        reread=2,
    )


def softmaxes(lab: Lab) -> Iterator[Case]:
    rows, columns = table(lab)
    yield Case(
        "softmax",
        "forward",
        lambda: (lab.draw(rows, columns),),
        lambda x: kernels.softmax.softmax(x, 1),
        lambda x: torch.softmax(x, 1),
    )
    yield Case(
        "softmax",
        "gradient",
        lambda: (lab.draw(rows, columns), torch.softmax(lab.draw(rows, columns), 1)),
        lambda dy, y: kernels.softmax.softmax_grad(dy, y, 1),
        lambda dy, y: aten._softmax_backward_data(dy, y, 1, y.dtype),
    )
    for classes in (1000, 30522):  # ImageNet's, and the word pieces of BERT

        def make(classes=classes):
            rows, columns = table(lab, classes)
            return lab.draw(rows, columns), lab.below(columns, rows), lab.draw(rows)

        def ours(x, label, head):
            return kernels.softmax.cross_entropy(x, label, 1), kernels.softmax.cross_entropy_grad(head, x, label, 1)

        def theirs(x, label, head):
            return with_gradients(lambda x: tf.cross_entropy(x, label, reduction="none"), head, x)

        yield Case("cross-entropy", f"forward and gradient, {classes} classes", make, ours, theirs, reread=2)
    yield linear_loss(lab)


def linear_loss(lab: Lab) -> Case:
    """The last layer of GPT-2 and its loss."""
    rows, classes, width = lab.extent(8192, 33), lab.extent(50257, 65), lab.extent(768, 24)

    def make():
        x, w = lab.draw(rows, width), lab.draw(classes, width)
        return x, w, lab.draw(classes), lab.below(classes, rows), lab.draw(rows)

    def ours(x, w, b, label, head):
        loss, lse = kernels.linear_loss.linear_cross_entropy(x, w, b, label)
        return loss, *kernels.linear_loss.linear_cross_entropy_grad(head, x, w, b, label, lse)

    def theirs(x, w, b, label, head):
        def loss(x, w, b):
            return tf.cross_entropy(tf.linear(x, w, b), label, reduction="none")

        return with_gradients(loss, head, x, w, b)

    flops = 8 * rows * classes * width
    return Case("linear cross-entropy", "forward and gradient, 50257 classes", make, ours, theirs, flops=flops)


def dropouts(lab: Lab) -> Iterator[Case]:
    rows, columns = table(lab)
    share, key = 0.1, 7

    def kept(x):
        """What the kernel keeps is its own choice, of which only the number is a matter of right and wrong."""
        mask = kernels.random.dropout(torch.ones_like(x), share, key) > 0
        deviation = abs(float(mask.double().mean()) - (1 - share))
        if deviation > 5 * math.sqrt(share * (1 - share) / mask.numel()):
            raise SystemExit(f"dropout of {share} changes the share of kept elements by {deviation}")
        return torch.where(mask, x / (1 - share), 0)

    yield Case(
        "dropout",
        "forward",
        lambda: (lab.draw(rows, columns),),
        lambda x: kernels.random.dropout(x, share, key),
        lambda x: tf.dropout(x, share),
        truth=kept,
    )


def reductions(lab: Lab) -> Iterator[Case]:
    rows, columns = table(lab)
    R = kernels.reduce
    for name, ours, theirs in [
        ("sum", lambda x: R.sum(x, (0, 1), False), lambda x: x.sum()),
        ("sum of rows", lambda x: R.sum(x, (1,), False), lambda x: x.sum(1)),
        ("sum of columns", lambda x: R.sum(x, (0,), False), lambda x: x.sum(0)),
        ("maximum of rows", lambda x: R.max(x, (1,), False), lambda x: x.amax(1)),
        ("place of the maximum of rows", lambda x: R.argmax(x, 1, False), lambda x: x.argmax(1)),
        ("mean and variance of columns", lambda x: R.moments(x, (0,), False),
         lambda x: torch.var_mean(x, 0, correction=0)[::-1]),
        ("norm", lambda x: R.norm(x, 2, (0, 1), False), lambda x: torch.linalg.vector_norm(x)),
    ]:  # fmt: skip
        yield Case("reduction", name, lambda: (lab.draw(rows, columns),), ours, theirs)


def transposes(lab: Lab) -> Iterator[Case]:
    rows, columns = table(lab)
    heads, size = lab.extent(12, 3), lab.extent(64, 5)
    sequences = 2 if lab.tiny else BYTES // lab.dtype.itemsize // (128 * heads * size)
    for name, extents, axes in [
        ("matrix", (rows, columns), (1, 0)),
        ("heads before tokens", (sequences, lab.extent(128, 4), heads, size), (0, 2, 1, 3)),
        ("channels last", (sequences, heads * size, lab.extent(8, 3), lab.extent(16, 2)), (0, 2, 3, 1)),
    ]:
        yield Case(
            "transpose",
            name,
            lambda extents=extents: (lab.draw(*extents),),
            lambda x, axes=axes: shape.permute(x, axes),
            lambda x, axes=axes: x.permute(axes).contiguous(),
        )


def optimizers(lab: Lab) -> Iterator[Case]:
    """Weights of 256 MB in float32, updated in place; PyTorch's fused updates differ in what a step divides by."""
    n = lab.extent(BYTES // 4, 1300)

    def weights(states):
        parts = [lab.draw(n, dtype=torch.float32) for _ in range(2 + states)]
        return *parts[:-1], parts[-1].abs() if states else parts[-1]

    def momentum(w, g, mom):
        kernels.optimizer.sgd_momentum_(w, g, mom, 0.1, momentum=0.9, wd=1e-4)
        return w, mom

    def true_momentum(w, g, mom):
        mom = 0.9 * mom - 0.1 * (g + 1e-4 * w)
        return w + mom, mom

    def torch_momentum(w, g, mom):
        torch._fused_sgd_([w], [g], [mom], weight_decay=1e-4, momentum=0.9, lr=0.1, dampening=0.0, nesterov=False,
                          maximize=False, is_first_step=False)  # fmt: skip

    def adam(w, g, mean, var):
        kernels.optimizer.adam_(w, g, mean, var, 0.1)
        return w, mean, var

    def true_adam(w, g, mean, var):
        mean, var = 0.9 * mean + 0.1 * g, 0.999 * var + 0.001 * g * g
        return w - 0.1 * mean / (var.sqrt() + 1e-8), mean, var

    step = torch.ones((), device=lab.device)

    def torch_adam(w, g, mean, var):
        torch._fused_adam_([w], [g], [mean], [var], [], [step], lr=0.1, beta1=0.9, beta2=0.999, weight_decay=0.0,
                           eps=1e-8, amsgrad=False, maximize=False)  # fmt: skip

    yield Case("optimizer", "momentum", lambda: weights(1), momentum, torch_momentum, true_momentum)
    yield Case("optimizer", "adam", lambda: weights(2), adam, torch_adam, true_adam)


# ---------------------------------------------------------------- attention and recurrent layers

# (name, batch, heads, length, size of a head, causal)
ATTENTION = [
    ("BERT-base, 128", 32, 12, 128, 64, False),
    ("BERT-base, 512", 32, 12, 512, 64, False),
    ("GPT-2 117M, 1024", 8, 12, 1024, 64, True),
    ("GPT-2 345M, 1024", 8, 16, 1024, 64, True),
]


def attentions(lab: Lab) -> Iterator[Case]:
    for name, batch, heads, length, size, causal in ATTENTION:
        extents = lab.extent(batch, 2), lab.extent(heads, 2), lab.extent(length, 19), lab.extent(size, 16)
        how = (extents[-1] ** -0.5, causal, None, 0.0, None)

        def forward(q, k, v, how=how):
            return kernels.attention.attention(q, k, v, *how)[0]

        def both(do, q, k, v, how=how):
            o, lse = kernels.attention.attention(q, k, v, *how)
            return o, *kernels.attention.attention_grad(do, q, k, v, o, lse, *how)

        def theirs(q, k, v, causal=causal):
            return tf.scaled_dot_product_attention(q, k, v, is_causal=causal)

        def their_both(do, q, k, v, theirs=theirs):
            return with_gradients(theirs, do, q, k, v)

        def make(count, extents=extents):
            return tuple(lab.draw(*extents) for _ in range(count))

        product = 2 * math.prod(extents) * extents[2] // (2 if causal else 1)
        yield Case("attention", f"forward {name}", lambda make=make: make(3), forward, theirs, flops=2 * product)
        yield Case(
            "attention",
            f"forward and gradient {name}",
            lambda make=make: make(4),
            both,
            their_both,
            flops=7 * product,
        )


def recurrent(lab: Lab) -> Iterator[Case]:
    for hidden in (650, 1024):
        name = f"forward and gradient, hidden {hidden}, batch 64, length 35"
        hidden, batch, steps = lab.extent(hidden, 5), lab.extent(64, 2), lab.extent(35, 3)
        sizes = [4 * hidden * hidden] * 2 + [4 * hidden] * 2
        how = dict(mode="lstm", hidden=hidden, layers=1, bidirectional=False, dropout=0.0, key=1, training=True)

        def make(hidden=hidden, batch=batch, steps=steps, sizes=sizes):
            states = (lab.draw(1, batch, hidden) for _ in range(2))
            sequence = (steps, batch, hidden)
            return lab.draw(*sequence), lab.draw(*sequence), lab.draw(sum(sizes), scale=hidden**-0.5), *states

        def ours(dy, x, params, h0, c0, how=how):
            y, _, _, reserve = kernels.rnn.rnn(x, params, h0, c0, **how)
            return y, *kernels.rnn.rnn_grad(dy, None, None, x, params, h0, c0, y, reserve, **how)[:2]

        def theirs(dy, x, params, h0, c0, sizes=sizes, hidden=hidden):
            parts = params.split(sizes)
            weights = [p.view(-1, hidden) if p.numel() > 4 * hidden else p for p in parts]

            def layer(x, *weights):
                return torch.lstm(x, (h0, c0), weights, True, 1, 0.0, True, False, False)[0]

            y, dx, *gradients = with_gradients(layer, dy, x, *weights)
            return y, dx, torch.cat([g.flatten() for g in gradients])

        flops = 3 * 2 * 2 * steps * batch * 4 * hidden * hidden
        yield Case("lstm", name, make, ours, theirs, flops=flops)


# ---------------------------------------------------------------- PyTorch's gradients


def with_gradients(function: Callable, head: torch.Tensor, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """`function(*inputs)` and its gradients with respect to each of the inputs."""
    leaves = [x.detach().requires_grad_() for x in inputs]
    y = function(*leaves)
    return y.detach(), *torch.autograd.grad(y, leaves, head)
