#!/usr/bin/env bash
# A program limits OpenBLAS, which NumPy brings, to some threads for good, as many do at their beginning. Later
# another thread of it, as one of a pool, asks for another number by threadpoolctl's context manager. A good
# engineer expects that number inside, as up to threadpoolctl 3.7, or a warning. From 3.8 on, a pthreads
# OpenBLAS heeds only the thread that was the first to set a limit, for as long as that thread lives; requests
# of all others are dropped without a word (its class OpenBLASController documents it), though threadpool_info()
# in the same thread shows that the number did not change. Since the thread of a pool may be the first one, the
# main thread can lose its say as well.
#
# Seen with threadpoolctl 3.7.0 and 3.8.0, NumPy 2.5.5 and Python 3.13.0:
#
#   threadpoolctl 3.7.0: main thread sets 2 and gets [2]; then another thread asks for 1 and gets [1]
#   threadpoolctl 3.7.0: a pool's thread sets 2 and gets [2]; then the main thread asks for 1 and gets [1]
#   threadpoolctl 3.8.0: main thread sets 2 and gets [2]; then another thread asks for 1 and gets [2]
#   threadpoolctl 3.8.0: a pool's thread sets 2 and gets [2]; then the main thread asks for 1 and gets [2]
#
# A user can set limits in one thread only, or call OpenBLASController.clear_controlling_thread(force=True) before.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
for version in 3.7.0 3.8.0; do
    "$work/venv/bin/pip" install -q "threadpoolctl==$version" numpy==2.5.5
    for first in main pool; do
        OPENBLAS_NUM_THREADS=4 "$work/venv/bin/python" - "$version" "$first" <<'EOF'
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

version, first = sys.argv[1:]
np.ones((8, 8)) @ np.ones((8, 8))


def counts():
    return [one["num_threads"] for one in threadpool_info() if one["internal_api"] == "openblas"]


def limited(number):
    threadpool_limits(number, "blas")
    return counts()


with ThreadPoolExecutor(1) as pool:
    def elsewhere(number):
        return pool.submit(limited, number).result()

    before, after = (limited, elsewhere) if first == "main" else (elsewhere, limited)
    one, two = before(2), after(1)
names = ("main thread", "another thread") if first == "main" else ("a pool's thread", "the main thread")
print(f"threadpoolctl {version}: {names[0]} sets 2 and gets {one}; then {names[1]} asks for 1 and gets {two}")
sys.exit((one, two) != ([2], [1] if version == "3.7.0" else [2]))
EOF
    done
done
