"""snellen doctor: what really works on this machine."""

from __future__ import annotations

import json

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def doctor(as_json: bool) -> None:
    """Say what really works here: CPU, threads, BLAS, GPU, encoders that open, models."""
    from snellen.jobs.checkup import checkup

    found = checkup()
    if as_json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        if isinstance(value, dict) and value:
            print(f"{name}:")
            for key, state in value.items():
                print(f"  {key:<12} {state}")
        else:
            text = ", ".join(value) or "none" if isinstance(value, list | dict) else value
            print(f"{name + ':':<13} {text}")
