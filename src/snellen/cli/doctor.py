"""snellen doctor: what really works on this machine."""

from __future__ import annotations

import json

import click

from snellen.cli import terminal
from snellen.cli.groups import Command


@click.command(
    cls=Command,
    examples=[("the same for a report of a fault", "snellen doctor --json")],
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def doctor(as_json: bool) -> None:
    """Say what really works here: CPU, threads, BLAS, GPU, encoders that open, models."""
    from snellen.jobs.checkup import checkup

    found = checkup()
    if as_json:
        terminal.out(json.dumps(found))
        return
    for name, value in found.items():
        if isinstance(value, dict) and value:
            terminal.out(f"{name}:", *(f"  {key:<12} {state}" for key, state in value.items()))
        else:
            text = ", ".join(value) or "none" if isinstance(value, list | dict) else value
            terminal.out(f"{name + ':':<13} {text}")
