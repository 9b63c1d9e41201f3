"""Print how many tests passed and failed in all runs of pytest of a log, as the last line of CI.

Exit status 1 where one failed, or where none passed.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

CLOSING = re.compile(r"^=+ (?P<counts>.*) in [\d.:]+s?\b.*=+$")
ONE = re.compile(r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed)\b")
MEANS = {"error": "failed", "errors": "failed", "xpassed": "failed", "xfailed": "skipped"}


def counted(text: str) -> Counter[str]:
    """Return the sums over the closing lines of pytest: passed, failed and skipped."""
    found: Counter[str] = Counter()
    for line in text.splitlines():
        if closing := CLOSING.match(line):
            for number, how in ONE.findall(closing["counts"]):
                found[MEANS.get(how, how)] += int(number)
    return found


def main() -> int:
    """Print the line; return the exit status."""
    found = counted(Path(sys.argv[1]).read_text("utf-8", "replace"))
    print(f"{found['passed']} passed, {found['failed']} failed, {found['skipped']} skipped")
    return 1 if found["failed"] or not found["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
