"""Starts a program in N processes of this machine, which train together with kvstore dist_sync.

    python scripts/launch.py -n 2 scripts/image_classification/train_mnist.py --kv-store dist_sync

All training programs take it: `scripts.common.parallel`. Each process finds its number in RANK, the number of all in WORLD_SIZE. When one fails, the others get a few seconds to
say what they miss, and are ended. On several machines torchrun starts them, in the same folder of each:

    python scripts/launch.py -n 16 --launcher ssh -H hosts scripts/image_classification/train_mnist.py ...

hosts: a file with a machine a line, of which each gets as many processes. --launcher mpi has mpirun, slurm has srun
start torchrun on the machines. Other programs that start processes set the same variables.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shlex
import signal
import socket
import subprocess
import sys
import time

# Seconds after a failure until the others are asked to end, and until they are killed.
PATIENCE, LAST_WARNING = 10, 5
PORT = 29500  # where processes of several machines meet, unless --port says another
PR_SET_PDEATHSIG = 1  # of <linux/prctl.h>


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    if args.num_servers:
        print("launch: no servers are started: processes sum gradients among themselves", file=sys.stderr)
    if args.launcher != "local":
        return run([subprocess.Popen(command) for command in remote_commands(args, os.environ)])
    command = [sys.executable, *args.command] if args.command[0].endswith(".py") else args.command
    port = args.port or free_port()
    processes = []
    for rank in range(args.num_workers):
        addresses = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        numbers = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(args.num_workers)}
        environment = {**os.environ, **addresses, **numbers}
        processes.append(subprocess.Popen(command, env=environment, preexec_fn=end_with_launcher))
    return run(processes)


def run(processes: list[subprocess.Popen]) -> int:
    """`supervise`, until the user ends it."""
    try:
        return supervise(processes)
    except KeyboardInterrupt:
        end(processes)
        return 130


def remote_commands(args: argparse.Namespace, environment) -> list[list[str]]:
    """What starts torchrun on the machines: a command for each with ssh, one for all with mpi and slurm."""
    hosts = hosts_of(args, environment)
    port, count = args.port or PORT, len(hosts)
    torchrun = [sys.executable, "-m", "torch.distributed.run", f"--nnodes={count}"]
    torchrun += [f"--nproc-per-node={args.num_workers // count}"]
    torchrun += [] if args.command[0].endswith(".py") else ["--no-python"]
    if args.launcher == "ssh":
        meet = [f"--master-addr={hosts[0]}", f"--master-port={port}"]
        rows = [[*torchrun, f"--node-rank={k}", *meet, *args.command] for k in range(count)]
        folder = shlex.quote(os.getcwd())
        return [["ssh", host, f"cd {folder} && exec {shlex.join(row)}"] for host, row in zip(hosts, rows)]
    meet = ["--rdzv-backend=c10d", f"--rdzv-endpoint={hosts[0]}:{port}", f"--rdzv-id={port}"]
    if args.launcher == "mpi":
        start = ["mpirun", "-n", str(count), "--host", ",".join(hosts)]
    else:
        start = ["srun", f"--nodes={count}", f"--ntasks={count}", "--ntasks-per-node=1"]
    return [[*start, *torchrun, *meet, *args.command]]


def hosts_of(args: argparse.Namespace, environment) -> list[str]:
    """The machines; SystemExit where they are not known, or do not share the processes evenly."""
    if args.hostfile:
        with open(args.hostfile) as file:
            hosts = [line.split()[0] for line in file if line.strip() and not line.startswith("#")]
    elif args.launcher == "slurm" and "SLURM_JOB_NODELIST" in environment:
        listing = ["scontrol", "show", "hostnames", environment["SLURM_JOB_NODELIST"]]
        hosts = subprocess.run(listing, capture_output=True, text=True, check=True).stdout.split()
    else:
        hosts = []
    if not hosts:
        raise SystemExit(f"launch: --launcher {args.launcher} needs machines: -H FILE, with one a line")
    if args.num_workers % len(hosts):
        raise SystemExit(f"launch: {args.num_workers} processes (-n) do not divide among {len(hosts)} machines")
    return hosts


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--num-workers", type=int, required=True, help="how many processes")
    parser.add_argument("-s", "--num-servers", type=int, default=0, help="accepted as in MXNet; there are no servers")
    parser.add_argument("-H", "--hostfile", help="the machines, one a line, for ssh, mpi and slurm")
    launchers = ["local", "ssh", "mpi", "slurm"]
    parser.add_argument("--launcher", choices=launchers, default="local", help="what starts processes (default: local)")
    parser.add_argument(
        "--port", type=int, help="the port where they meet (default: a free one; 29500 on several machines)"
    )
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
