"""Print the source digest of this checkout: `python benchmarks/digest.py`.

`digest(root)` is what results and the record of the GPU tests carry. Neither may lie in src/ or
tests/: it would change the digest that it holds.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from snellen.bench.digest import combined as combined
from snellen.bench.digest import counts as counts
from snellen.bench.digest import digest as digest

ROOT = Path(__file__).resolve().parents[1]
"""The folder of the checkout."""

if __name__ == "__main__":
    print(digest(ROOT))
