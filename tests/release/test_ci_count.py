"""The last line of CI counts the tests of all its runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / ".ci" / "count.py"
RUNS = """\
======== 11266 passed, 5074 skipped in 246.42s (0:04:06) ========
fuzz: 750 cases, 3 failed in words of another program
===== 1 skipped, 9 deselected in 5.08s =====
==== 2 passed, 1 xfailed, 1 warning in 0.10s ====
"""


@pytest.mark.cases
@pytest.mark.parametrize(
    ("text", "line", "code"),
    [
        (RUNS, "11268 passed, 0 failed, 5076 skipped", 0),
        (RUNS + "=== 1 failed, 2 passed, 1 error in 3.00s ===\n",
         "11270 passed, 2 failed, 5076 skipped", 1),
        ("=== 1 skipped, 9 deselected in 5.08s ===\n", "0 passed, 0 failed, 1 skipped", 1),
        ("make: nothing ran\n", "0 passed, 0 failed, 0 skipped", 1),
    ],
)  # fmt: skip
def test_the_last_line(tmp_path, text, line, code):
    (tmp_path / "log").write_text(text)
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path / "log"], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1] == line
    assert done.returncode == code
