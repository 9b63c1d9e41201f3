"""Which cases of a test run by default.

A plugin of pytest. Of a test with several cases, the first and the last run by default, and the
others are slow: they repeat with other numbers what these check. Where they do more, as each goes
through a branch of its own, the marker `cases` says so: `cases(5)` takes five that are spread
evenly, `cases` takes all.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

USUAL = 2


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the other cases as slow."""
    tests = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec") and not item.get_closest_marker("slow"):
            on_gpu = item.get_closest_marker("gpu") is not None
            tests[item.nodeid.partition("[")[0], on_gpu].append(item)
    for cases in tests.values():
        marker = cases[0].get_closest_marker("cases")
        number = USUAL if marker is None else marker.args[0] if marker.args else len(cases)
        # However they are shuffled, the same ones are chosen.
        cases.sort(key=lambda item: tuple(item.callspec.indices.values()))
        kept = {(len(cases) - 1) * k // max(1, number - 1) for k in range(number)}
        for place, item in enumerate(cases):
            if place not in kept:
                item.add_marker(pytest.mark.slow)
