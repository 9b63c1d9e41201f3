"""Many machines: a cluster of Ray runs tickets, by the interface of a `Pool`.

Ray chooses the nodes, and tries again what fails with a task, a worker or a node. What is finished
is known to this process alone, which is started again where it has died.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from snellen.errors import InputError, SnellenError, quoted
from snellen.frames import values
from snellen.jobs.events import Events, notify

if TYPE_CHECKING:
    from snellen.jobs.tickets import Ticket
    from snellen.video.progress import Meter

TRIES = 3
"""How often a ticket is tried."""
LOCAL = "local"
"""Address of a cluster of this machine alone, which is started for a run and ended with it."""
_AHEAD = 2
"""So many tickets for each that runs: the next ones are there, and an autoscaler sees them."""
_CLIENT = "ray://"
_PATIENCE = 5.0
"""Seconds for a connection, and for what is cancelled to clean up."""
_OFTEN = 1.0
"""Seconds after which a signal that has arrived is noticed, whatever Ray does."""


def check_cluster(value: object, workers: object) -> None:
    """Refuse (InputError) what is no address, and a number of workers beside it."""
    if value is None:
        return
    good = isinstance(value, str) and (value in ("auto", LOCAL) or _place(value) is not None)
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


class Cluster:
    """Runs tickets as tasks of Ray; a context manager, which leaves none of them behind.

    Parameters
    ----------
    address : str
        "auto" (of this machine, or of RAY_ADDRESS), "HOST:PORT", "ray://HOST:PORT", or "local".
    device : str
        "auto" (the cluster's GPUs, if it has any), "cpu", "cuda" or "cuda:all".
    threads : int, optional
        CPUs of each task; None: of the smallest node, those for each of its GPUs, or all.
    events : Events
        Receives notices and warnings.
    meter : Meter, optional
        Counts what all have done.

    Raises
    ------
    InputError
        No Ray is installed, none answers at the address, or the device is one of one machine.
    """

    def __init__(
        self,
        address: str,
        device: str,
        threads: int | None,
        events: Events,
        meter: Meter | None = None,
    ) -> None:
        if device not in ("auto", "cpu", "cuda", "cuda:all"):
            raise InputError(
                f"got `device`={quoted(device)} with `cluster`; expected auto, cpu or cuda: Ray "
                "chooses the GPUs",
                parameter="device",
            )
        self._events, self._meter = events, meter
        self._tickets: dict[Any, Ticket] = {}
        self._waits = False
        self._ray = _library()
        self._is_ours = not self._ray.is_initialized()
        if self._is_ours:
            _connect(self._ray, address)
        try:
            self._submitted = self._remote(device, threads)
        except BaseException:
            self._end()
            raise

    def _remote(self, device: str, threads: int | None) -> Any:
        """Return what submits a ticket."""
        from snellen.jobs.cluster_task import Order, run_ticket

        nodes = self._nodes()
        gpus = device != "cpu" and (device != "auto" or any(n.get("GPU", 0) >= 1 for n in nodes))
        self._gpus = int(gpus)
        self._cpus = threads or _share(nodes, gpus)
        task = self._ray.remote(
            name="snellen",
            num_cpus=self._cpus,
            num_gpus=self._gpus,
            max_retries=TRIES - 1,
            retry_exceptions=True,
        )(run_ticket)
        where = ("auto" if device == "auto" else "cuda:0") if gpus else "cpu"
        order = Order(where, self._cpus, str(Path.cwd()))
        return lambda ticket: task.remote(ticket, order)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *error: object) -> None:
        self._end()

    @property
    def room(self) -> int:
        """How many tickets the nodes of this moment run at once."""
        found = 0
        for node in self._nodes():
            fits = int(node.get("CPU", 0) // self._cpus)
            found += min(fits, int(node.get("GPU", 0))) if self._gpus else fits
        return found

    @property
    def slots(self) -> int:
        """How many tickets there may be at once: nodes come and go."""
        return _AHEAD * max(1, self.room)

    @property
    def needs(self) -> str:
        """What a ticket needs, in words."""
        from snellen.video.messages import counted

        gpu = " and a GPU" if self._gpus else ""
        return f"{counted(self._cpus, 'CPU')}{gpu}"

    def submit(self, ticket: Ticket) -> None:
        """Take a ticket."""
        self._tickets[self._submitted(ticket)] = ticket

    def wait(self) -> Any:
        """Return the result of the ticket that ends first.

        Raises
        ------
        SnellenError
            A ticket has failed for good.
        """
        ready: list[Any] = []
        while not ready:
            self._say_where_nothing_fits()
            ready, _ = self._ray.wait(list(self._tickets), num_returns=1, timeout=_OFTEN)
        ticket = self._tickets.pop(ready[0])
        try:
            answer = self._ray.get(ready[0])
        except self._ray.exceptions.RayError as error:
            return _given_up(ticket, _ours(error).about(ticket))
        for kind, subject, text in answer.said:
            if kind == "warning":
                self._events.warning(subject, text)
            else:
                notify(self._events, subject, text)
        if answer.error is not None:
            return _given_up(ticket, answer.error)
        if self._meter is not None:
            self._meter.add(ticket.units(answer.result))
        return answer.result

    def _say_where_nothing_fits(self) -> None:
        if self.room:
            self._waits = False
        elif not self._waits:
            self._waits = True
            text = f"no node has {self.needs}: waiting for one"
            self._events.warning("cluster", text)

    def _nodes(self) -> list[dict[str, float]]:
        return [node["Resources"] for node in self._ray.nodes() if node["Alive"]]

    def _end(self) -> None:
        """End what runs, and leave the cluster.

        A connection that ends takes its tasks along. Cancelling them before would be in a race with
        their results, in which Ray may abort this process.
        """
        left = list(self._tickets)
        self._tickets.clear()
        with suppress(Exception):  # a cluster that is gone runs nothing
            if self._is_ours:
                self._ray.shutdown()
                return
            for patience, force in ((0.0, False), (_PATIENCE, True)):
                if left:
                    _, left = self._ray.wait(left, num_returns=len(left), timeout=patience)
                for one in left:
                    self._ray.cancel(one, force=force)


def _share(nodes: list[dict[str, float]], gpus: bool) -> int:
    """Return the CPUs of the smallest node, for each of its GPUs, if these are used."""
    found = [
        int(node.get("CPU", 0) // (node["GPU"] if gpus else 1))
        for node in nodes
        if node.get("CPU", 0) >= 1 and (not gpus or node.get("GPU", 0) >= 1)
    ]
    return max(1, min(found, default=1))


def _given_up(ticket: Ticket, error: SnellenError) -> Any:
    """Return the result of a ticket that has failed for good, or raise the error."""
    result = ticket.failed(error)
    if result is None:
        raise error
    return result


def _ours(error: Any) -> SnellenError:
    """Return what a task has raised, or what became of its worker."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, SnellenError):
        return cause
    lines = [line.strip() for line in str(cause or error).splitlines() if line.strip()]
    name = type(cause or error).__name__
    return SnellenError(f"{name}: {lines[0]}" if lines else name)


def _library() -> ModuleType:
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


def _connect(ray: ModuleType, address: str) -> None:
    """Connect to a cluster, or start one.

    Raises
    ------
    InputError
        None answers at the address, or it does not let us in.
    """
    known = _current() if address == "auto" else address
    if known != LOCAL:
        _knock(address, known)
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if not known.startswith(_CLIENT):
        options["include_dashboard"] = False
    try:
        with _own_signals():
            ray.init(known, **options)
    except Exception as error:
        with suppress(Exception):
            ray.shutdown()
        raise _no_cluster(address, quoted(error, str)) from error


def _current() -> str:
    """Return the address of the cluster of which this machine is a part, as Ray notes it.

    Ray would try for two minutes to reach one that has ended.
    """
    found = os.environ.get("RAY_ADDRESS", "")
    if not found:
        folder = os.environ.get("RAY_TMPDIR") or Path(tempfile.gettempdir(), "ray")
        with suppress(OSError):
            found = Path(folder, "ray_current_cluster").read_text().strip()
    if not found:
        raise _no_cluster("auto", "none was started on this machine")
    return found


def _knock(address: str, known: str) -> None:
    """Refuse (InputError) an address at which nobody listens."""
    place = _place(known)
    if place is None:
        raise _no_cluster(address, f"{quoted(known)} is no address")
    try:
        socket.create_connection(place, _PATIENCE).close()
    except (OSError, ValueError) as error:
        named = "" if known == address else f"{known}: "
        raise _no_cluster(address, f"{named}{getattr(error, 'strerror', None) or error}") from error


def _place(address: str) -> tuple[str, int] | None:
    """Return the host and the port of an address; None: it has none."""
    host, _, port = address.removeprefix(_CLIENT).rpartition(":")
    good = host and not {*"/@"} & {*host}
    number = values.decimal(port, 65535)
    return (host.strip("[]"), number) if good and number is not None else None


def _no_cluster(address: str, why: str) -> InputError:
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
