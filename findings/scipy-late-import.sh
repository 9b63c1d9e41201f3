#!/usr/bin/env bash
# A program's main thread ends while a thread that is not a daemon still works; Python waits for it. That thread
# imports SciPy for the first time. A good engineer expects an import to work in any thread that Python waits for,
# as NumPy's does. SciPy's raises RuntimeError: it imports ThreadPoolExecutor of Python's own concurrent.futures,
# whose module registers a function for the end of the threads, which Python does not allow from then on.
#
# Seen with SciPy 1.18.1, NumPy 2.5.5 and Python 3.13.0:
#
#   scipy, after sys: RuntimeError: can't register atexit after shutdown
#   scipy.signal, after sys: RuntimeError: can't register atexit after shutdown
#   numpy, after sys: imported
#   scipy.signal, after concurrent.futures.thread: imported
#
# A user can import SciPy, or only concurrent.futures.thread, before the main thread ends.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q scipy==1.18.1 numpy==2.5.5
cat >"$work/late.py" <<'EOF'
import importlib
import sys
import threading

before, late = sys.argv[1:]


def work():
    threading.main_thread().join()
    try:
        importlib.import_module(late)
        print(f"{late}, after {before}: imported")
    except RuntimeError as error:
        print(f"{late}, after {before}: RuntimeError: {error}")


importlib.import_module(before)
threading.Thread(target=work).start()
EOF
run() { "$work/venv/bin/python" "$work/late.py" "$1" "$2"; }
"$work/venv/bin/python" -c '
import platform, numpy, scipy
print("SciPy", scipy.__version__, "NumPy", numpy.__version__, "Python", platform.python_version())'
raised=$(run sys scipy; run sys scipy.signal)
imported=$(run sys numpy; run concurrent.futures.thread scipy.signal)
printf '%s\n' "$raised" "$imported"
[ "$(grep -c "RuntimeError: can't register atexit after shutdown" <<<"$raised")" = 2 ]
[ "$(grep -c "imported$" <<<"$imported")" = 2 ]
