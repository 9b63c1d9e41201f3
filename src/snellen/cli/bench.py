"""snellen bench: correct first, then the times, beside other libraries in the same run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from snellen import target


@click.group()
def bench() -> None:
    """Measure this machine: speed, memory, and that the result is right."""


@bench.command()
@click.option("--repeats", type=click.IntRange(1), default=5, show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write JSON here, too.")
@click.option("--json", "as_json", is_flag=True, help="Only the JSON object on stdout.")
@click.option("--overwrite", is_flag=True, help="Replace an existing output.")
def aplus(repeats: int, output: Path | None, as_json: bool, overwrite: bool) -> None:
    """Time A+ on the CPU (1080p ×2, 720p ×3, 540p ×4) beside bicubic and a plain NumPy port."""
    from snellen.bench.aplus import run

    if output:
        target.check(output, None, overwrite)
    report = run(repeats, lambda line: print(line, file=sys.stderr if as_json else sys.stdout))
    if output:
        with target.whole(output, overwrite) as temporary:
            temporary.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    if as_json:
        print(json.dumps(report))
