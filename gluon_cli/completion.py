"""`gluon completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

import argparse
from argparse import Namespace

from gluon_cli.answer import Answer

SHELLS = {
    "bash": "_gluon() {{\n  local words\n  case \"${{COMP_WORDS[1]}}\" in\n{cases}\n    *) words=\"{commands}\";;\n  esac\n"
    "  [ \"$COMP_CWORD\" = 1 ] && words=\"{commands}\"\n"
    "  COMPREPLY=($(compgen -W \"$words\" -- \"${{COMP_WORDS[COMP_CWORD]}}\"))\n}}\n"
    "complete -o default -F _gluon gluon",
    "zsh": "autoload -U +X bashcompinit && bashcompinit\n{bash}",
    "fish": "complete -c gluon -f -n __fish_use_subcommand -a '{commands}'\n{lines}",
}  # fmt: skip


def add(command) -> None:
    """Enters the command."""
    made = command(
        "completion", help="let a shell complete commands",
        description="Prints what lets a shell complete commands and options: eval \"$(gluon completion bash)\".",
    )  # fmt: skip
    made.add_argument("shell", choices=tuple(SHELLS))
    made.set_defaults(run=run)


def run(args: Namespace) -> Answer:
    """The text for the shell."""
    from gluon_cli.main import parser

    options = words(parser())
    commands = " ".join(options)
    cases = "\n".join(f'    {name}) words="{" ".join(found)}";;' for name, found in options.items())
    bash = SHELLS["bash"].format(cases=cases, commands=commands)
    lines = "\n".join(
        f"complete -c gluon -n '__fish_seen_subcommand_from {name}' -l {word[2:]}"
        for name, found in options.items()
        for word in found
        if word.startswith("--")
    )
    text = SHELLS[args.shell].format(cases=cases, commands=commands, bash=bash, lines=lines)
    return Answer({"shell": args.shell, "text": text}, text)


def words(made: argparse.ArgumentParser) -> dict[str, list[str]]:
    """The options, and choices of arguments, of each command."""
    (commands,) = (action for action in made._actions if isinstance(action, argparse._SubParsersAction))
    found = {}
    for name, command in commands.choices.items():
        choices = [c for action in command._actions if not action.option_strings for c in action.choices or ()]
        nested = [choice for action in command._actions if isinstance(action, argparse._SubParsersAction)
                  for choice in action.choices.values()]  # fmt: skip
        actions = [action for parser in (command, *nested) for action in parser._actions]
        options = dict.fromkeys(w for action in actions for w in action.option_strings if w.startswith("--"))
        found[name] = [*choices, *options]
    return found
