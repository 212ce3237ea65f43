"""A training run that can be killed at any moment and resumed to the same numbers.

    run = Run("image_classification", args, data=checksums(files))
    for epoch in run.epochs(args.epochs, net, trainer):
        for data, label in run.progress(loader, f"epoch {epoch}"):
            ...
        run.epoch_done(epoch, {"loss": loss, "test_accuracy": accuracy}, samples=60000)
    run.finish("test_accuracy")

After every epoch a checkpoint holds parameters, optimizer states, the states of the random generators and the record
so far (`scripts.common.checkpoints`). It is a folder that appears under its final name only when it is whole, with the
digests of its files; one that was damaged later is passed over. The last `--keep` of them stay. Nothing in it is
executed on loading.

Of several processes (`scripts.common.parallel`) the first one writes the record, whose metrics are means over them, and
the checkpoints, to which each adds the states of its random generators, which differ from the first epoch on. Another
number of processes may go on: the order of the samples is drawn by the first, new ones seed their own generators, and
schedules of rates go on at the epoch, which has fewer updates then, or more.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from tqdm import tqdm

from core import random as core_random
from core.files.atomic import write_bytes
from core.kvstore import processes
from scripts.common import checkpoints, parallel
from scripts.common.checkpoints import latest, read_state
from scripts.common.record import LOGS, ROOT, Record
from scripts.common.several import Trainers
from scripts.common.spread import show

# Arguments that may change when a run goes on: they do not touch the numbers of an epoch.
FREE = {
    "resume",
    "keep",
    "log_interval",
    "save_interval",
    "output",
    "input",
    "validation",
    "save_dir",
    "save_plot_dir",
    "log_dir",
    "run",
    "num_workers",
    "num_data_workers",
    "data_dir",
    "output_dir",
    "kv_store",
}


def add_run_arguments(parser: argparse.ArgumentParser, run: str, *names: str, seed: int = 0) -> None:
    """Adds --seed, --resume, --run (under further `names`, too), --save-dir, --log-dir and --kv-store,
    which every training program has.
    """
    parallel.add_store_argument(parser)
    parser.add_argument("--seed", type=int, default=seed, help="seed of everything random (default: %(default)s)")
    parser.add_argument(
        "--resume",
        "--resume-from",
        nargs="?",
        const=True,
        default=False,
        metavar="PARAMS",
        help="go on after the last finished epoch, if there is one; with a file: begin with its parameters",
    )
    parser.add_argument(
        "--run",
        *names,
        dest="run",
        type=lambda name: name.removesuffix(".log"),
        default=run,
        help="name of the run's log files (default: %(default)s)",
    )
    parser.add_argument(
        "--keep", type=int, default=2, metavar="N", help="how many checkpoints stay on the disk (default: %(default)s)"
    )
    parser.add_argument("--save-dir", type=Path, help="folder of the checkpoints (default: checkpoints/<task>/<run>)")
    parser.add_argument(
        "--log-dir", "--logging-dir", type=Path, default=LOGS, help="folder of the logs (default: logs)"
    )


def add_interval_arguments(parser: argparse.ArgumentParser, *names: str, save: int = 10, log: int = 0) -> None:
    """Adds --log-interval and, under `names`, how often parameters are kept."""
    parser.add_argument(
        *(names or ("--save-interval",)),
        dest="save_interval",
        type=int,
        default=save,
        metavar="N",
        help="keep the parameters of every N-th epoch besides the best (default: %(default)s)",
    )
    parser.add_argument(
        "--log-interval", type=int, default=log, metavar="N", help="batches between lines in the log (default: none)"
    )


class Run:
    """The record, the checkpoints and the progress bars of one training run.

    Make it before anything random happens: it seeds every generator from `args.seed`. `args` needs what
    `add_run_arguments` adds. `data` are the checksums of what the run reads. `best`: the metric whose highest value
    marks the parameters to keep as `<run>-best.params` beside the checkpoints. `cuts_batches`: each of several processes
    gets a part of every batch, so that an epoch has as many updates with any number of them.

    A resumed run has to be given the arguments that `args` hold now. What a program makes of them later, also by the
    number of processes, is not compared.
    """

    def __init__(
        self, task: str, args: argparse.Namespace, *, data: dict[str, str], best: str = "", cuts_batches: bool = False
    ):
        self.args, self._best, self._cuts_batches = args, best, cuts_batches
        self._given = _deciding(args)
        self.record = Record(task, args.run, seed=args.seed, data=data, folder=args.log_dir)
        self.folder = args.save_dir or ROOT / "checkpoints" / task / args.run
        self._done: int | None = None
        self._net = None
        self.seed(args.seed)

    def seed(self, seed: int) -> None:
        """Seeds every generator, alike in all processes: each makes the same networks and splits of data."""
        core_random.seed(seed)
        np.random.seed(seed)
        random.seed(seed)

    def epochs(self, count: int, net, trainer, first: int = 1) -> Iterator[int]:
        """The epochs `first` to `count` that are still to do; `--resume` restores `net` and `trainer` before them.

        A run that trains several times, fold by fold or seed by seed, calls this once for each, with epochs that are
        numbered through, after `seed`: then a resumed run passes over the finished ones.

        Raises SystemExit when the checkpoint was made with other arguments.
        """
        self._net = net
        if self._done is None:
            self._done = self._begin()
        self._seed_apart(max(first, self._done + 1))
        if first <= self._done <= count:
            self._restore(latest(self.folder), net, trainer)
        elif isinstance(self.args.resume, str):
            net.load_parameters(self.args.resume)
        for epoch in range(max(first, self._done + 1), count + 1):
            self._epoch_started = time.perf_counter()
            yield epoch
            self._save(epoch, net, trainer)

    def progress(self, batches: Iterable, title: str) -> Iterable:
        """The batches to train on, with a bar on the terminal; without a terminal just `batches`.

        After the last one processes share moving statistics.
        """
        batches = batches if processes.count() == 1 else parallel.Averaging(batches, self._net)
        return tqdm(batches, desc=title, leave=False, disable=None if self.record.leads else True)

    def epoch_done(self, epoch: int, metrics: dict[str, float], samples: int) -> None:
        """Writes the row of an epoch; `samples` is how many were trained on."""
        seconds = time.perf_counter() - self._epoch_started
        metrics = parallel.mean_over_processes(metrics)
        self.record.facts["epochs"].append({"epoch": epoch} | metrics)
        self.record.facts["times"].setdefault("epochs", []).append(round(seconds, 3))
        self.record.say(f"epoch {epoch}: {_show(metrics)}", f"{seconds:.1f} s, {samples / seconds:.0f} samples/s")

    def measured(self) -> list[str]:
        """The names of what the last epoch measured, which may have been before a resumption."""
        return [name for name in self.record.facts["epochs"][-1] if name != "epoch"]

    def finish(self, *names: str, published: str = "", **metrics: float | list[float]) -> dict:
        """Writes, and returns, the final metrics: `names` of the last epoch, and `metrics` as given.

        A list holds the values of repetitions. `published` says what others got, and where.
        """
        row = self.record.facts["epochs"][-1]
        metrics = {name: row[name] for name in names} | metrics
        self.record.put(final=metrics, published=published)
        self.record.say(f"final: {_show(metrics)}", f"{self.record.seconds():.1f} s in all")
        return metrics

    # ------------------------------------------------------------ checkpoints

    def _save(self, epoch: int, net, trainer) -> None:
        """A checkpoint takes its name when everything in it is on the disk; those before the last ones go then."""
        unfinished = self.folder / "unfinished"
        leads = processes.rank() == 0
        if leads:
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
        processes.barrier()
        write_bytes(_of_process(unfinished), json.dumps(_random_state()).encode())
        processes.barrier()
        if not leads:
            return
        net.save_parameters(str(unfinished / "net.params"))
        trainer.save_states(str(unfinished / "trainer.states"))
        state = {"epoch": epoch, "record": self.record.state(), "processes": processes.count()}
        self._keep(epoch, net)
        checkpoints.seal(unfinished, epoch, state)
        checkpoints.forget(self.folder, max(1, getattr(self.args, "keep", 2)))

    def _keep(self, epoch: int, net) -> None:
        """Parameters for later use: those of every so many epochs, and the best so far."""
        every = getattr(self.args, "save_interval", 0)
        if every and epoch % every == 0:
            net.save_parameters(str(self.folder / f"{self.args.run}-{epoch:04d}.params"))
        values = [row[self._best] for row in self.record.facts["epochs"] if self._best in row]
        if values and self._best in self.record.facts["epochs"][-1] and values[-1] > max(values[:-1], default=-1.0):
            net.save_parameters(str(self.folder / f"{self.args.run}-best.params"))

    def _begin(self) -> int:
        """Begins the record, or goes on with that of the checkpoint; how many epochs are done."""
        checkpoint = latest(self.folder) if self.args.resume is True else None
        if not checkpoint:
            if self.record.leads:
                checkpoints.forget(self.folder)
            self.record.put(arguments=self._given, epochs=[])
            self.record.begin()
            return 0
        state = read_state(checkpoint)
        facts = state["record"]["facts"]
        self._refuse_other_arguments(facts["arguments"])
        if facts["data"] != self.record.facts["data"]:
            raise SystemExit(f"the checkpoint in {self.folder} was made from other data: their SHA-256 differ")
        self.record.restore(state["record"])
        if self.record.leads:
            print(f"resumed after epoch {state['epoch']} from {checkpoint}", flush=True)
        return state["epoch"]

    def _restore(self, checkpoint: Path, net, trainer) -> None:
        net.load_parameters(str(checkpoint / "net.params"))
        self._load_states(checkpoint, trainer)
        if _of_process(checkpoint).exists():  # not where there were fewer processes
            _set_random_state(json.loads(_of_process(checkpoint).read_text()))

    def _load_states(self, checkpoint: Path, trainer) -> None:
        """States and counts of updates; schedules stay those of this run, which may have epochs of another length."""
        trainers = trainer.all() if isinstance(trainer, Trainers) else [trainer]
        schedules = [one.optimizer.lr_scheduler for one in trainers]
        trainer.load_states(str(checkpoint / "trainer.states"))
        before = processes.count() if self._cuts_batches else read_state(checkpoint).get("processes", 1)
        for one, schedule in zip(trainers, schedules, strict=True):
            one.optimizer.lr_scheduler = schedule
            parallel.recount(one.optimizer, before)

    def _seed_apart(self, epoch: int) -> None:
        """From here on each process draws numbers of its own; the first one goes on with those it has."""
        if processes.rank() > 0:
            self.seed(self.args.seed + processes.rank() + (epoch << 16))

    def _refuse_other_arguments(self, before: dict) -> None:
        now, before = self._given, {name: value for name, value in before.items() if name not in FREE}
        changed = [name for name in sorted(before.keys() | now.keys()) if before.get(name) != now.get(name)]
        if changed:
            raise SystemExit(
                f"the checkpoint in {self.folder} was made with "
                + ", ".join(f"--{name.replace('_', '-')} {before.get(name)}" for name in changed)
                + ", now given "
                + ", ".join(f"{now.get(name)}" for name in changed)
                + ": give the same, or another --save-dir"
            )


def _deciding(args: argparse.Namespace) -> dict:
    """The arguments that decide the numbers, as they look after a round trip through JSON.

    Where files lie is left out: the record has their checksums.
    """
    return {name: value for name, value in sorted(vars(args).items()) if name not in FREE and not _is_path(value)}


def _is_path(value) -> bool:
    return isinstance(value, Path) or (isinstance(value, list) and any(isinstance(part, Path) for part in value))


def _of_process(checkpoint: Path) -> Path:
    """Where a checkpoint holds the states of this process's random generators."""
    return checkpoint / f"random-{processes.rank()}.json"


def _random_state() -> dict:
    version, words, gauss = random.getstate()
    numpy_state = np.random.get_state(legacy=False)
    numpy_state["state"]["key"] = numpy_state["state"]["key"].tolist()
    return {"core": core_random.get_state(), "numpy": numpy_state, "python": [version, list(words), gauss]}


def _set_random_state(state: dict) -> None:
    core_random.set_state(state["core"])
    key = np.asarray(state["numpy"]["state"]["key"], dtype=np.uint32)
    np.random.set_state(state["numpy"] | {"state": state["numpy"]["state"] | {"key": key}})
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words), gauss))


def _show(metrics: dict) -> str:
    return "  ".join(f"{name} {show(value, digits=6)}" for name, value in metrics.items())
