"""What training on many processes takes: memory of each, bytes that it sends, and seconds a step.

    estimate(Work(parameters=25.6e6, flops=3 * 4.1e9 * 64), Mesh(256, link=25e9, rate=400e12), "dist_sync")

Memory is that of weights, gradients and states after the backward pass, without activations, whose size depends on the
network and the batch. Bytes are those of rings: N - 1 of N parts for a reduce-scatter, and as many for an all-gather.
The docs page `docs/scaling.md` derives and applies it.
"""

from __future__ import annotations

import dataclasses
import math

KINDS = ("dist_sync", 1, 2, 3)  # all whole, or the stages of dist_sharded
FORWARD = 1 / 3  # of the arithmetic of a step; the backward pass is the rest
UNIT = 4 << 20  # bytes of gradients that travel together


@dataclasses.dataclass(frozen=True)
class Work:
    """A network and what each process computes in a step.

    parameters: how many are trained. width: bytes of one, and of its gradient: 4, or 2 in half precision. master: with
    a float32 copy for the optimizer (multi_precision). slots: float32 states a parameter: 0 for SGD, 1 with momentum,
    2 for Adam. largest: parameters of the largest layer, which stage 3 gathers at once. flops: of the forward and the
    backward pass on the batch of one process.
    """

    parameters: float
    flops: float
    width: int = 4
    master: bool = False
    slots: int = 2
    largest: float = 0


@dataclasses.dataclass(frozen=True)
class Mesh:
    """Processes and what joins them.

    link: bytes a second that a process sends, over the slowest link that a ring crosses. rate: FLOPs a second of one
    process, those that it reaches. latency: seconds of a message between neighbours. shards: processes of dist_sharded
    that share a replica, as `Trainer(mesh=(processes // shards, shards))` says; 0 for all of them. inner: the link
    between those; 0 for `link`.
    """

    processes: int
    link: float
    rate: float
    latency: float = 1e-5
    shards: int = 0
    inner: float = 0

    @property
    def parts(self) -> int:
        """How many processes share a replica."""
        return self.shards or self.processes


@dataclasses.dataclass(frozen=True)
class Estimate:
    """Of one process: bytes of weights, gradients and states, bytes sent a step, and seconds a step.

    sent: in rings of all processes, or of those that share a replica. between: to other replicas. exposed: seconds of communication that no computation covers. efficiency: of the time that one process would take.
    """

    weights: float
    gradients: float
    states: float
    sent: float
    seconds: float
    exposed: float
    between: float = 0.0

    @property
    def memory(self) -> float:
        return self.weights + self.gradients + self.states

    @property
    def efficiency(self) -> float:
        return 1 - self.exposed / self.seconds


def estimate(work: Work, mesh: Mesh, kind: str | int) -> Estimate:
    """The cost of a step; kind: "dist_sync", or a stage of dist_sharded. ValueError for another, or no process."""
    if kind not in KINDS:
        raise ValueError(f"kind is one of {', '.join(map(repr, KINDS))}, got {kind!r}")
    if mesh.processes < 1:
        raise ValueError(f"a mesh has 1 process or more, got {mesh.processes}")
    stage = 0 if kind == "dist_sync" else int(kind)
    count = mesh.parts if stage else mesh.processes
    if mesh.processes % count:
        raise ValueError(f"{mesh.processes} processes are no replicas of {count}")
    replicas = mesh.processes // count
    whole = work.parameters * work.width
    part = whole / count
    largest = work.largest * work.width
    flight = 0 if count == 1 else 2 * max(largest, min(UNIT, whole)) if stage > 1 else 0
    weights = part + 2 * largest if stage == 3 else whole
    gradients = part + flight if stage > 1 else whole
    states = work.parameters * 4 * (work.slots + work.master) / (count if stage else 1)
    computing = work.flops / mesh.rate
    once = whole * (count - 1) / count  # a reduce-scatter, or an all-gather
    passes = 0 if count == 1 else 3 if stage == 3 else 2
    messages = math.ceil(whole / max(UNIT, largest)) * math.ceil(math.log2(count)) * mesh.latency
    one = once / (mesh.inner or mesh.link if stage and mesh.shards else mesh.link) + messages
    between = 2 * part * (replicas - 1) / replicas
    crossing = between / mesh.link + (2 * math.log2(replicas) * mesh.latency if replicas > 1 else 0)
    forward, backward = FORWARD * computing, (1 - FORWARD) * computing
    if passes == 0:
        exposed = max(0.0, crossing - backward) if stage > 1 else crossing
    elif stage == 0:  # sums on their way in the backward pass
        exposed = max(0.0, 2 * one - backward)
    elif stage == 1:  # sums and gathers in the step
        exposed = 2 * one + crossing
    elif stage == 2:  # sums in the backward pass, gathers in the step
        exposed = max(0.0, one + crossing - backward) + one
    else:  # gathers before the blocks that wait for them, sums in the backward pass beside them
        exposed = 2 * one + max(0.0, one + crossing - backward)
    return Estimate(weights, gradients, states, passes * once, forward + backward + exposed, exposed, between)


# Public figures: parameters, forward FLOPs of a sample or token, and links of one GPU in a machine of eight.
CASES = {
    "ResNet-50, 256 GPUs, 64 images each": (
        Work(25.6e6, flops=3 * 2 * 4.1e9 * 64, width=4, slots=1, largest=2.4e6),
        Mesh(256, link=25e9, rate=150e12),
    ),
    "BERT-large, 64 GPUs, 16 x 512 tokens each": (
        Work(336e6, flops=6 * 336e6 * 16 * 512, width=2, master=True, largest=31.3e6),
        Mesh(64, link=25e9, rate=400e12),
    ),
    "decoder of 7B, 64 GPUs, 2 x 4096 tokens each": (
        Work(6.74e9, flops=6 * 6.74e9 * 2 * 4096, width=2, master=True, largest=202e6),
        Mesh(64, link=25e9, rate=400e12),
    ),
}


MACHINE, INNER = 8, 200e9  # processes of a machine, and bytes a second between them


def table() -> str:
    """The cases in Markdown, a row for each kind, and for stages 2 and 3 with a replica on each machine."""
    lines = [
        "| case | kind | weights GB | gradients GB | states GB | sent GB | between GB | seconds | exposed | efficiency |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, (work, mesh) in CASES.items():
        machines = dataclasses.replace(mesh, shards=MACHINE, inner=INNER)
        rows = [(kind if kind == "dist_sync" else f"stage {kind}", kind, mesh) for kind in KINDS]
        rows += [(f"stage {kind}, {mesh.processes // MACHINE} x {MACHINE}", kind, machines) for kind in (2, 3)]
        for label, kind, where in rows:
            e = estimate(work, where, kind)
            sizes = " | ".join(f"{value / 1e9:.2f}" for value in (e.weights, e.gradients, e.states, e.sent, e.between))
            lines.append(f"| {name} | {label} | {sizes} | {e.seconds:.3f} | {e.exposed:.3f} | {e.efficiency:.0%} |")
    return "\n".join(lines)
