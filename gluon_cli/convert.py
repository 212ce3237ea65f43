"""`gluon convert`: weights of other libraries as ours, and back."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from gluon_cli.answer import Answer
from gluon_cli.zoo import vision_network


def add(command) -> None:
    """Enters the command."""
    convert = command(
        "convert", help="weights of other libraries as ours, and back",
        description="Turns a folder of Hugging Face into parameters and a vocabulary, a state_dict of a network of the zoo "
        "into parameters, or parameters into a .safetensors file for timm or torchvision. Nothing in them is executed.",
    )  # fmt: skip
    convert.add_argument("source", metavar="FILE", help="a file of weights, or a folder of Hugging Face")
    convert.add_argument("output", help="a .params file, a .safetensors file, or a folder for a language network")
    convert.add_argument("--network", metavar="NAME", help="the network of the zoo whose weights a file has")
    convert.add_argument("--names", choices=("timm", "torchvision"), help="of parameters in a .safetensors file")
    convert.set_defaults(run=run)


def run(args: Namespace) -> Answer:
    """Writes the files; the answer has their paths."""
    files = _language(args) if Path(args.source).is_dir() else _vision(args)
    return Answer({"files": files}, "\n".join(files))


def _language(args):
    from core.files.atomic import write_bytes
    from gluonnlp.model import load_huggingface

    net, vocab, _ = load_huggingface(args.source)
    folder = Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    files = [str(folder / "network.params")]
    net.save_parameters(files[0])
    if vocab is not None:
        files.append(str(folder / "vocabulary.json"))
        write_bytes(files[1], vocab.to_json().encode())
    return files


def _vision(args):
    from gluoncv.model_zoo import get_model, save_state_dict

    if not Path(args.source).is_file():
        raise FileNotFoundError(f"there is no file or folder {args.source}")
    if not args.network:
        raise ValueError("a file of weights goes with --network NAME; `gluon list` has all names")
    net = get_model(vision_network(args.network), pretrained=args.source, pretrained_base=False)
    Path(args.output).parent.mkdir(parents=True, exist_ok=True)
    if args.output.lower().endswith(".safetensors"):
        if not args.names:
            raise ValueError("a .safetensors file goes with --names timm or torchvision")
        save_state_dict(net, args.output, names=args.names)
    elif args.output.lower().endswith(".params"):
        net.save_parameters(args.output)
    else:
        raise ValueError(f"{args.output} ends neither in .params nor in .safetensors")
    return [args.output]
