"""MXNet's first way to train: a symbol, iterators, and a Module that fits it, keeps it and goes on.

python examples/module.py --data-dir ../shared/data/mnist
"""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import core as mx
from gluon.data.vision import MNIST


def main(argv: list[str] | None = None) -> float:
    """Gives the accuracy on the test part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", required=True, help="folder of MNIST's files")
    parser.add_argument("--samples", type=int, help="use only the first so many pictures of each part")
    parser.add_argument("--epochs", type=int, default=4, help="passes over the data (default: %(default)s)")
    parser.add_argument("--prefix", default="mlp", help="beginning of the files that are kept (default: %(default)s)")
    args = parser.parse_args(argv)
    logging.getLogger().setLevel(logging.INFO)
    mx.random.seed(0)
    train, test = (iterator(MNIST(args.data_dir, train=part), args.samples, part) for part in (True, False))

    data = mx.sym.flatten(mx.sym.var("data"))
    hidden = mx.sym.Activation(mx.sym.FullyConnected(data, num_hidden=128, name="fc1"), act_type="relu")
    symbol = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=10, name="fc2"), name="softmax")
    half = max(args.epochs // 2, 1)
    module = mx.mod.Module(symbol, context=mx.cpu())
    fit = {"optimizer": "adam", "optimizer_params": {"learning_rate": 2e-3}, "eval_metric": "acc"}
    module.fit(
        train, eval_data=test, num_epoch=half, initializer=mx.init.Xavier(),
        epoch_end_callback=mx.callback.do_checkpoint(args.prefix), **fit
    )  # fmt: skip
    # The second half goes on from the files, as another process would.
    symbol, arguments, statistics = mx.model.load_checkpoint(args.prefix, half)
    again = mx.mod.Module(symbol, context=mx.cpu())
    again.fit(
        train, num_epoch=args.epochs, begin_epoch=half, arg_params=arguments, aux_params=statistics, **fit
    )  # fmt: skip
    ((_, accuracy),) = again.score(test, "acc")
    print(f"test accuracy {accuracy:.4f}")
    return accuracy


def iterator(pictures: MNIST, samples: int | None, train: bool) -> mx.io.NDArrayIter:
    """Batches of a data set, pixels between 0 and 1."""
    x, y = pictures._data[:samples].transpose((0, 3, 1, 2)).astype("float32") / 255, pictures._label[:samples]
    return mx.io.NDArrayIter(x, mx.nd.array(y), batch_size=100, shuffle=train)


if __name__ == "__main__":
    main()
