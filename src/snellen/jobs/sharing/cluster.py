"""Many machines: a cluster of Ray runs tickets, by the interface of a `Pool`.

Ray chooses the nodes, and tries again what fails with a task, a worker or a node. What is finished
is known to this process alone, which is started again where it has died.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.errors import InputError, SnellenError, quoted
from snellen.files.waiting import waiting
from snellen.jobs.events import Events, notify
from snellen.jobs.options.cluster_connection import connect, library
from snellen.jobs.sharing.cluster_task import Answer, Order, run_ticket
from snellen.jobs.sharing.tickets import Times

if TYPE_CHECKING:
    from snellen.jobs.sharing.tickets import Done, Ticket
    from snellen.video.progress import Meter

TRIES = 3
"""How often a ticket is tried."""
_AHEAD = 2
"""So many tickets for each that runs: the next ones are there, and an autoscaler sees them."""
_PATIENCE = 5.0
"""Seconds for what is cancelled to clean up."""
_OFTEN = 1.0
"""Seconds after which a signal that has arrived is noticed, whatever Ray does."""

now = time.monotonic


@dataclass(slots=True, eq=False)
class _Work:
    """A ticket that was submitted."""

    ticket: Ticket
    tries: int = 1
    """How many of its tasks have not ended; 2: it was submitted once more, as it takes long."""
    began: float = inf
    """When there was room for it."""
    is_doubled: bool = False
    """True: it was submitted once more, or must not be."""


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
        self._works: dict[Any, _Work] = {}
        self._lost: list[Any] = []
        self._times = Times()
        self._waits = False
        self._ray = library()
        self._is_ours = not self._ray.is_initialized()
        if self._is_ours:
            connect(self._ray, address)
        try:
            self._submitted = self._remote(device, threads)
        except BaseException:
            self._end()
            raise

    def _remote(self, device: str, threads: int | None) -> Any:
        """Return what submits a ticket."""
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
        """The CPUs and the GPU that a ticket needs, in words."""
        from snellen.video.messages import counted

        gpu = " and a GPU" if self._gpus else ""
        return f"{counted(self._cpus, 'CPU')}{gpu}"

    def submit(self, ticket: Ticket) -> None:
        """Take a ticket."""
        self._works[self._submitted(ticket)] = _Work(ticket, is_doubled=ticket.once)

    def wait(self) -> Done:
        """Return what became of the ticket that ends first.

        Raises
        ------
        SnellenError
            A ticket has failed for good.
        """
        while True:
            with waiting("cluster", "Ray to answer"):
                self._say_where_nothing_fits()
                self._note_beginnings()
                ready, _ = self._ray.wait(list(self._works), num_returns=1, timeout=_OFTEN)
            if not ready:
                self._submit_again()
                continue
            work = self._works.pop(ready[0])
            work.tries -= 1
            try:
                with waiting("cluster", "a result from Ray"):
                    answer: Answer = self._ray.get(ready[0])
            except self._ray.exceptions.RayError as error:
                answer = Answer(error=_ours(error).about(work.ticket))
            if answer.error is None or not work.tries:
                break  # otherwise another task is at it
        self._lose(work)
        for kind, subject, text in answer.said:
            if kind == "warning":
                self._events.warning(subject, text)
            else:
                notify(self._events, subject, text)
        if answer.error is not None:
            return work.ticket.failed(answer.error)
        assert answer.done is not None
        if self._meter is not None:
            self._meter.add(answer.done.units)
        if work.began < inf:
            self._times.add(now() - work.began)
        return answer.done

    def _note_beginnings(self) -> None:
        """Note when there is room for a task: nodes begin them in about their order."""
        if self._lost:  # those that have ended take no room
            _, self._lost = self._ray.wait(self._lost, num_returns=len(self._lost), timeout=0)
        for work in list(self._works.values())[: max(0, self.room - len(self._lost))]:
            work.began = min(work.began, now())

    def _submit_again(self) -> None:
        """Submit a ticket once more that takes much longer than others, where there is room."""
        once = [one for one in self._works.values() if not one.is_doubled]
        if not once or len(self._works) + len(self._lost) >= self.room:
            return
        work = min(once, key=lambda one: one.began)
        if now() - work.began >= self._times.limit:
            work.is_doubled, work.tries = True, 2
            self._works[self._submitted(work.ticket)] = work
            text = f"{work.ticket} takes much longer than others: it is begun once more"
            notify(self._events, work.ticket.subject, text)

    def _lose(self, work: _Work) -> None:
        """Forget the other task of a ticket that is finished; it runs on until the end."""
        # Cancelling it would be in a race with its result, in which Ray may abort this process.
        for one in [one for one, other in self._works.items() if other is work]:
            del self._works[one]
            self._lost.append(one)

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
        """End what runs, and leave the cluster."""
        # A connection that ends takes its tasks along. Cancelling them before would be in a race
        # with their results, in which Ray may abort this process.
        left = [*self._works, *self._lost]
        self._works.clear()
        self._lost.clear()
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


def _ours(error: Any) -> SnellenError:
    """Return what a task has raised, or what became of its worker."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, SnellenError):
        return cause
    lines = [line.strip() for line in str(cause or error).splitlines() if line.strip()]
    name = type(cause or error).__name__
    return SnellenError(f"{name}: {lines[0]}" if lines else name)
