"""Bytes that a stage must move, beside the rate of a copy: `python -m benchmarks.roofline FILE`.

FILE is what `snellen bench aplus` or `mad` wrote on a GPU, with stages; of MAD, pairs count, and
not their halves. Every array counts once in each direction. A transform must pass at least once;
cuFFT passes twice or more where a plane does not fit on chip.
"""

from __future__ import annotations

import sys
from collections.abc import Container
from pathlib import Path

from benchmarks.results import Key, read
from benchmarks.tables import rows
from snellen.aplus.cuda.layout import padded
from snellen.aplus.cuda.regress import cell as regress_cell
from snellen.aplus.training import WINDOW
from snellen.mad.cuda.loggabor import BANDS
from snellen.mad.definition import grid

DIMS = {2: 28, 3: 30, 4: 31}
"""Dimensions of the shipped models, by scale."""
ANCHORS = 1024
"""Anchors of the shipped models."""
REAL = 4
"""Bytes of MAD's float32."""


def aplus(width: int, height: int, scale: int) -> dict[str, int]:
    """Return the bytes of each stage for an 8-bit plane and a shipped model."""
    pixels, dims = width * height, padded(DIMS[scale])
    feature, samples = 4 * dims * pixels, -(-(WINDOW**2) * regress_cell(scale) // 8) * 8
    return {
        "features": pixels + feature,
        "match": feature + 2 * pixels,
        "group": 8 * pixels,
        "regress": feature + (4 * samples + 6) * pixels + 2 * ANCHORS * samples * dims,
        "overlap": (4 * samples + 1 + scale * scale) * pixels,
    }


def mad(width: int, height: int, tiles: bool) -> dict[str, int]:
    """Return the bytes of each stage for a pair of 8-bit planes.

    `tiles`: whether statistics are those of tiles' moments, from transforms of our own.
    """
    pixels, half = width * height, height * (width // 2 + 1)
    across, down = grid(height, width)
    blocks, given = across * down, 1 if tiles else 2 * REAL
    return {
        "lightness": 3 * pixels + 2 * REAL * pixels,
        "FFT of lightness": 2 * REAL * (pixels + 2 * half),
        "csf": 2 * REAL * 4 * half,
        "inverse FFT of lightness": 2 * REAL * (2 * half + pixels),
        "block statistics": REAL * (pixels + 2 * blocks),
        "visibility": REAL * (pixels + 3 * blocks),
        "local error": 2 * pixels + REAL * blocks,
        "grey": 2 * (1 + REAL) * pixels,
        "FFT": 2 * REAL * (pixels + 2 * half),
        "filters": 2 * REAL * (2 * half + 2 * BANDS * pixels),
        "inverse FFTs": 2 * REAL * BANDS * 4 * pixels,
        "filters and rows": 2 * REAL * 2 * (half + pixels + BANDS * pixels),
        "columns and tiles": 2 * BANDS * (2 * REAL * pixels + pixels),
        "statistics": BANDS * (given * pixels + 3 * REAL * blocks),
        "difference": BANDS * (given * pixels + 4 * REAL * blocks),
        "sum of differences": REAL * (BANDS + 1) * blocks,
    }


def needs(key: Key, stages: Container[str]) -> dict[str, int]:
    """Return the bytes of each stage of a cell."""
    size, _, scale = key.size.partition(" ×")
    width, height = map(int, size.split("×"))
    if key.method == "aplus":
        return aplus(width, height, int(scale))
    return mad(width, height, "columns and tiles" in stages)


def main() -> int:
    """Print a table; return the exit status."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    result = read(Path(sys.argv[1]))
    rate = result.report.get("copy_gb_s")
    cells = {
        key: cell
        for key, cell in result.cells.items()
        if cell.stages and key.kind not in ("set reference", "compare")
    }
    if not rate or not cells or result.method not in ("aplus", "mad"):
        print("error: a result of A+ or MAD on a GPU with stages is needed", file=sys.stderr)
        return 2
    body = []
    for key, cell in cells.items():
        for name, count in needs(key, cell.stages).items():
            if name in cell.stages:
                ms = cell.stages[name]["median"]
                share = count / 1e6 / ms / rate
                body.append([key.name, name, f"{ms:.3f}", f"{count / 1e6:.0f} MB", f"{share:.0%}"])
    print(rows(["", "stage", "ms", "bytes at least", f"of a copy's {rate / 1e3:.2f} TB/s"], body))
    return 0


if __name__ == "__main__":
    sys.exit(main())
