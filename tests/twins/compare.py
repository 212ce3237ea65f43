"""Networks here and in other libraries, with the same random weights: the same outputs, and back without a bit lost.

python -m tests.twins.compare [--only REGEX] [--log logs/conversion/twins.log] [--skip FILE] [--names FILE]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shlex
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch

from core import nd
from gluoncv.model_zoo import get_model
from gluoncv.model_zoo.state_dict import load_state_dict, state_dict
from scripts.common import environment
from tests.twins import authors, video  # noqa: F401  (enter their twins)
from tests.twins.vision import TWINS

TOLERANCE = 1e-4
# Beginnings of what a twin is -> where the network is from.
ORIGINS = (
    (r"(timm|torchvision|gluoncv\.torch) [\w.]+$", "a package's own network"),
    (
        r"timm (ResNet,|MobileNet V1,|resnet, pruned)",
        "a package's class with settings that the package has no name for",
    ),
    ("", "built from a package's parts, under the names of the authors' program"),
)


def compare(name, twin):
    """A row: how far outputs are apart, of the largest value, and how many arrays came back with other bits."""
    torch.manual_seed(0)
    theirs = twin.make().eval()
    _randomise(theirs)
    values = {k: v.numpy().copy() for k, v in theirs.state_dict().items()}
    ours = get_model(name, **{"pretrained_base": False, **twin.keywords})
    load_state_dict(ours, values, names=twin.names)
    shape = (1, 3, twin.size, twin.size) if isinstance(twin.size, int) else twin.size
    x = np.random.RandomState(0).standard_normal(shape).astype("float32")
    with torch.no_grad():
        want = _arrays(twin.theirs(theirs, torch.tensor(x)))
    got = _arrays(twin.ours(ours, nd.array(x)))
    assert [g.shape for g in got] == [w.shape for w in want], ([g.shape for g in got], [w.shape for w in want])
    error = max(float(np.abs(g - w).max() / max(np.abs(w).max(), 1e-30)) for g, w in zip(got, want, strict=True))
    back, differing = state_dict(ours, twin.names)
    lost = [k for k, v in values.items() if not _counted(k) and not np.array_equal(back.get(k), v)]
    lost += sorted(set(back) - set(values))
    spread = min(float(w.std()) for w in want)
    return {
        "network": name, "twin": twin.what, "input": twin.size, "arrays": len(back), "apart": error, "spread": spread,
        "lost": lost, "differs": differing, "names": digest(back),
    }  # fmt: skip


def digest(names):
    """The beginning of the SHA-1 of sorted names."""
    return hashlib.sha1("\n".join(sorted(names)).encode()).hexdigest()[:12]


def _counted(name):
    return name.endswith("num_batches_tracked") or "AuxLogits" in name


def _randomise(net):
    """Normalisations that do something, SE layers without a bias where ours have none."""
    for name, value in net.state_dict().items():
        if name.endswith("running_mean"):
            value.normal_(0, 0.1)
        elif name.endswith("running_var"):
            value.uniform_(1, 1.5)
        elif value.ndim == 1 and value.is_floating_point():
            value.normal_(float(name.endswith("weight")), 0.1)
        if "se_module" in name and name.endswith("bias"):
            value.zero_()
    if hasattr(net, "settle"):
        with torch.no_grad():
            net.settle()


def _arrays(outputs):
    if isinstance(outputs, dict):
        outputs = list(outputs.values())
    if isinstance(outputs, (list, tuple)):
        return [array for output in outputs for array in _arrays(output)]
    return [outputs.numpy() if isinstance(outputs, torch.Tensor) else outputs.asnumpy()]


def names(twin):
    """What a row of twins.json says: keywords of our network, and a digest of the names there."""
    with torch.device("meta"):
        arrays = [name for name in twin.make().state_dict() if not _counted(name)]
    return {"names": twin.names, "keywords": twin.keywords, "arrays": len(arrays), "digest": digest(arrays)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="only networks whose name this expression finds")
    parser.add_argument("--skip", help="a log of this program: not the networks in it")
    parser.add_argument("--log", type=Path, help="file for the rows; it is written at the end")
    parser.add_argument("--names", help="file for digests of the names, as JSON; nothing is computed")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    done = set(re.findall(r"^(\S+): ", Path(args.skip).read_text(), re.M)) if args.skip else set()
    twins = {name: twin for name, twin in TWINS.items() if re.search(args.only, name) and name not in done}
    if args.names:
        with open(args.names, "w") as file:
            rows = (f"{json.dumps(name)}: {json.dumps(names(twin))}" for name, twin in sorted(twins.items()))
            file.write("{\n" + ",\n".join(rows) + "\n}\n")
        return
    head = (shlex.join(["python", "-m", "tests.twins.compare", *sys.argv[1:]]), environment.commit())
    lines, bad = {}, []
    for name, twin in twins.items():
        begun = time.time()
        try:
            row = compare(name, twin)
        except Exception as error:
            bad.append(name)
            print(f"BAD {name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            continue
        lines[name] = f"{name}: {row['twin']}, apart {row['apart']:.1e} of the largest, spread {row['spread']:.1e}"
        if not (row["apart"] <= TOLERANCE and row["spread"] > 0 and not row["lost"]):
            bad.append(name)
            lines[name] += f", BAD, lost {row['lost'][:4]}"
        print(f"{lines[name]}, {time.time() - begun:.1f} s", flush=True)
    if args.log:
        args.log.write_text("\n".join([*heading(*head, lines, twins, bad), *sorted(lines.values())]) + "\n")


def heading(command, commit, lines, twins, bad):
    """What a log says before its rows."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "torchvision", "timm"))
    counts = dict.fromkeys((origin for _, origin in ORIGINS), 0)
    for name in lines:
        counts[next(origin for pattern, origin in ORIGINS if re.match(pattern, twins[name].what))] += 1
    return [
        f"command: {command}",
        f"commit: {commit}",
        f"versions: {packages}, gluoncv 0.10.5.post0 (its part for PyTorch)",
        f"{len(lines)} networks and their twins, {len(bad)} of them apart{': ' * bool(bad)}{', '.join(bad)}; "
        + "; ".join(f"{count}: {origin}" for origin, count in counts.items()),
        "random weights; apart: largest difference of an output over the largest output, at most "
        f"{TOLERANCE:g}; spread: least standard deviation of an output; every array came back bit for bit",
    ]


if __name__ == "__main__":
    main()
