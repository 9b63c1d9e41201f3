"""`python -m fuzz`, for hours: see README.md."""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

from fuzz.registry import KINDS
from fuzz.runner import fuzz, repeat

parser = argparse.ArgumentParser("fuzz", description="Hostile files against the commands.")
parser.add_argument("--seconds", type=float, default=60.0)
parser.add_argument("--seed", type=int, help="default: a fresh one, which is printed")
parser.add_argument("--kind", choices=[*sorted(KINDS), "api"], help="default: all")
parser.add_argument("--case", metavar="KIND:NUMBER", help="one case of the seed")
parser.add_argument("--keep", type=Path, help="folder for the files of cases with a fault")
given = parser.parse_args()
seed = random.SystemRandom().randrange(10**9) if given.seed is None else given.seed
if given.case:
    sys.exit(repeat(seed, given.case, given.keep))
faults = 0
if given.kind != "api":
    share = 1.0 if given.kind else 0.85  # the rest is for calls from Python
    faults += fuzz(seed, given.seconds * share, given.kind, given.keep)
if given.kind in (None, "api"):
    from fuzz import api

    faults += api.main(given.seconds * (1.0 if given.kind else 0.15), seed)
sys.exit(bool(faults))
