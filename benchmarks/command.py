"""Arguments that the commands of this folder share, and the writing of their reports."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def arguments(
    text: str | None, add: Callable[[argparse.ArgumentParser], object] = lambda parser: None
) -> argparse.Namespace:
    """Return the arguments of a command: device, repeats, quick, output, and what `add` adds."""
    parser = argparse.ArgumentParser(description=text)
    add(parser)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--repeats", type=int, default=5, help="timed rounds")
    parser.add_argument("--quick", action="store_true", help="fewer sizes")
    parser.add_argument("-o", "--output", type=Path, help="write JSON here")
    return parser.parse_args()


def write(report: dict[str, Any], output: Path | None) -> None:
    """Write a report as JSON where it is wanted."""
    if output:
        text = json.dumps(report, indent=1, ensure_ascii=False)
        output.write_text(text + "\n", encoding="utf-8")
