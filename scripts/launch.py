"""Starts a program in N processes of this machine, which train together with kvstore dist_sync.

    python scripts/launch.py -n 2 scripts/image_classification/train_mnist.py --kv-store dist_sync

Each process finds its number in RANK, the number of all in WORLD_SIZE. When one fails, the others get a few seconds to
say what they miss, and are ended. For several machines use torchrun, which sets the same variables.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time

# Seconds after a failure until the others are asked to end, and until they are killed.
PATIENCE, LAST_WARNING = 10, 5
PR_SET_PDEATHSIG = 1  # of <linux/prctl.h>


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    command = [sys.executable, *args.command] if args.command[0].endswith(".py") else args.command
    port = args.port or free_port()
    processes = []
    for rank in range(args.num_workers):
        addresses = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        numbers = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(args.num_workers)}
        environment = {**os.environ, **addresses, **numbers}
        processes.append(subprocess.Popen(command, env=environment, preexec_fn=end_with_launcher))
    try:
        return supervise(processes)
    except KeyboardInterrupt:
        end(processes)
        return 130


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--num-workers", type=int, required=True, help="how many processes")
    parser.add_argument("--launcher", choices=["local"], default="local", help="processes run on this machine")
    parser.add_argument("--port", type=int, help="the port where they meet (default: a free one)")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the program and its arguments")
    args = parser.parse_args(argv)
    if args.num_workers < 1:
        parser.error(f"-n is 1 or more, got {args.num_workers}")
    if args.command[:1] == ["--"]:
        del args.command[0]
    if not args.command:
        parser.error("name the program to start")
    return args


def supervise(processes: list[subprocess.Popen]) -> int:
    """Waits for all; 0 where all succeed, 1 after the first failure."""
    while True:
        codes = [process.poll() for process in processes]
        failed = [(rank, code) for rank, code in enumerate(codes) if code]
        if failed:
            rank, code = failed[0]
            print(
                f"launch: process {rank} of {len(processes)} {_how(code)}; ending the others",
                file=sys.stderr,
                flush=True,
            )
            _wait(processes, PATIENCE)
            end(processes)
            return 1
        if all(code == 0 for code in codes):
            return 0
        time.sleep(0.1)


def end(processes: list[subprocess.Popen]) -> None:
    """Asks the processes that run to end, then kills them."""
    for stop in (subprocess.Popen.terminate, subprocess.Popen.kill):
        for process in processes:
            if process.poll() is None:
                stop(process)
        _wait(processes, LAST_WARNING)


def end_with_launcher() -> None:
    """Has the system end this process when the launcher is killed (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait(processes: list[subprocess.Popen], seconds: float) -> None:
    last = time.monotonic() + seconds
    while time.monotonic() < last and any(process.poll() is None for process in processes):
        time.sleep(0.05)


def _how(code: int) -> str:
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"failed with exit code {code}"


if __name__ == "__main__":
    raise SystemExit(main())
