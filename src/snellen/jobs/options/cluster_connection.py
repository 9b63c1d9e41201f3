"""The connection to a cluster of Ray."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from snellen.errors import InputError, quoted
from snellen.files.waiting import waiting
from snellen.frames import values

LOCAL = "local"
"""Address of a cluster of this machine alone, which is started for a run and ended with it."""
_CLIENT = "ray://"
_PATIENCE = 5.0
"""Seconds for a connection."""


def check_cluster(value: object, workers: object) -> None:
    """Refuse (InputError) what is no address, and a number of workers beside it."""
    if value is None:
        return
    good = isinstance(value, str) and (value in ("auto", LOCAL) or place(value) is not None)
    if not good:
        raise InputError(
            f"got `cluster`={quoted(value)}; expected auto, local, HOST:PORT or ray://HOST:PORT",
            parameter="cluster",
        )
    if workers is not None:
        raise InputError(
            "got `workers` with `cluster`; Ray starts as many as its nodes have room for",
            parameter="workers",
        )


def library() -> ModuleType:
    """Return Ray, which is told to be quiet."""
    for name, value in (
        ("RAY_USAGE_STATS_ENABLED", "0"),
        ("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0"),
        ("RAY_DEDUP_LOGS_SKIP_REGEX", ".*"),  # what was tried again; it would go to standard output
    ):
        os.environ.setdefault(name, value)
    try:
        import ray
        import ray.exceptions
    except ImportError as error:
        raise InputError(
            f"`cluster` needs Ray, which cannot be imported: {quoted(error, str)}",
            parameter="cluster",
            advice='pip install "snellen[cluster]"',
        ) from error
    found: ModuleType = ray
    return found


def connect(ray: ModuleType, address: str) -> None:
    """Connect to a cluster, or start one.

    InputError: none answers at the address, or it does not let us in.
    """
    known = _current() if address == "auto" else address
    if known != LOCAL:
        _knock(address, known)
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if not known.startswith(_CLIENT):
        options["include_dashboard"] = False
    try:
        with waiting("cluster", f"Ray at {address} to let us in"), _own_signals():
            ray.init(known, **options)
    except BaseException as error:
        with suppress(Exception):  # what a start has begun that failed ends with this process
            ray.shutdown()
        if not isinstance(error, Exception):
            raise
        raise _no_cluster(address, quoted(error, str)) from error


def _folder() -> Path:
    """Return Ray's folder on this machine."""
    system = "/tmp" if sys.platform == "darwin" else tempfile.gettempdir()
    return Path(os.environ.get("RAY_TMPDIR") or system, "ray")


def _current() -> str:
    """Return the address of the cluster of which this machine is a part, as Ray notes it."""
    # Ray would try for two minutes to reach one that has ended.
    found = os.environ.get("RAY_ADDRESS", "")
    if not found:
        with suppress(OSError):
            found = (_folder() / "ray_current_cluster").read_text().strip()
    if not found:
        raise _no_cluster("auto", "none was started on this machine")
    return found


def _knock(address: str, known: str) -> None:
    """Refuse (InputError) an address at which nobody listens."""
    host = place(known)
    if host is None:
        raise _no_cluster(address, f"{quoted(known)} is no address")
    try:
        socket.create_connection(host, _PATIENCE).close()
    except (OSError, ValueError) as error:
        named = "" if known == address else f"{known}: "
        raise _no_cluster(address, f"{named}{getattr(error, 'strerror', None) or error}") from error


def place(address: str) -> tuple[str, int] | None:
    """Return the host and the port of an address; None: it has none."""
    host, _, port = address.removeprefix(_CLIENT).rpartition(":")
    good = host and not {*"/@"} & {*host}
    number = values.decimal(port, 65535)
    return (host.strip("[]"), number) if good and number is not None else None


def _no_cluster(address: str, why: str) -> InputError:
    if address == LOCAL:
        return InputError(
            f"`cluster`=local: Ray could not start on this machine: {why}",
            parameter="cluster",
            advice=f"give `workers` in place of `cluster`, which need no Ray, or see what it has "
            f"written in {_folder() / 'session_latest/logs'}",
        )
    return InputError(
        f"`cluster`={quoted(address, str)}: no cluster of Ray can be used: {why}",
        parameter="cluster",
        advice="start one by ray start --head, or name another; its token must be known here",
    )


@contextmanager
def _own_signals() -> Iterator[None]:
    """Take back the signals that Ray's start takes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)
