"""snellen doctor: what really works on this machine."""

from __future__ import annotations

import json
from typing import Any

import click

from snellen.cli import interrupts, recipes, terminal
from snellen.cli.groups import REPORT, Command, group
from snellen.cli.options import DEVICE


@click.command(
    cls=Command,
    examples=[
        ("the same for a report of a fault", "snellen doctor --json"),
        ("compile all code now, so that no first use waits: for images of containers",
         "snellen doctor --warm"),
    ],
)  # fmt: skip
@group(
    "What is done",
    click.option(
        "--warm",
        is_flag=True,
        help="Compile all code that upscale, deblur and score use, and keep it; a minute or two.",
    ),
    DEVICE,
)
@group(REPORT, click.option("--json", "as_json", is_flag=True, help="One JSON object."))
def doctor(as_json: bool, warm: bool, device: str) -> None:
    """Say what really works here: CPU, threads, BLAS, GPU, encoders that open, models.

    Also which folders of compiled code and which snellen.toml are read.

    With --warm say instead what was compiled, where it is kept, and how long that took. --device is
    for --warm: kernels of a GPU are compiled where there is one, loops of the CPU always.
    """
    if warm:
        from snellen.jobs.calls.warm import warm as prepare

        def say(text: str) -> None:
            interrupts.check()
            terminal.err(text)

        found = prepare(say, device)
        if found["warning"]:
            terminal.err(f"warning: SNELLEN_CACHE: {found['warning']}")
    else:
        from snellen.jobs.checkup import checkup

        found = checkup() | {"configuration": recipes.state(click.get_current_context())}
    terminal.out(*([json.dumps(found)] if as_json else _lines(found)))


def _lines(found: dict[str, Any]) -> list[str]:
    lines = []
    for name, value in found.items():
        if value == "":  # as of no warning
            continue
        if isinstance(value, dict) and value:
            wide = max(12, *map(len, value))
            lines += [f"{name}:", *(f"  {key:<{wide}} {state}" for key, state in value.items())]
        else:
            text = ", ".join(value) or "none" if isinstance(value, list | dict) else value
            lines.append(f"{name + ':':<13} {text}")
    return lines
