"""Opens executors of tickets: here, in processes or on a cluster; and has results in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import cycle, islice
from typing import TYPE_CHECKING, TypeAlias

from snellen.cpu.threads import available
from snellen.errors import unexpected
from snellen.gpu import device as gpus
from snellen.jobs.events import Events, notify
from snellen.jobs.sharing.tickets import Done, Ticket, Worker
from snellen.video.messages import counted
from snellen.video.segments.executor import Here

if TYPE_CHECKING:
    from snellen.jobs.kinds.files import FilmJob
    from snellen.jobs.kinds.score import ScoreJob
    from snellen.video.progress import Meter
    from snellen.video.segments.executor import Executor as AnyExecutor

    Executor: TypeAlias = AnyExecutor[Ticket, Done]


def planned(job: FilmJob | ScoreJob) -> tuple[str, ...]:
    """Return the device of each worker of a job; (): its cluster has them.

    Raises
    ------
    DeviceError
        A device cannot be used.
    """
    if job.cluster is not None:
        return ()
    names = gpus.names(job.device)
    if job.workers is None and len(names) == 1 and names[0] != gpus.ALL:
        return (job.device,)
    found = gpus.several(job.device)
    return tuple(islice(cycle(found), job.workers or len(found)))


def share(workers: tuple[str, ...]) -> int:
    """Return the CPU threads of each worker."""
    return max(1, available() // len(workers))


@contextmanager
def executor(
    how: FilmJob | ScoreJob,
    devices: tuple[str, ...],
    subject: str,
    unit: str,
    work: str | None,
    events: Events,
    meter: Meter | None = None,
) -> Iterator[Executor]:
    """Open what runs a job's tickets: the job's cluster, processes, or this one.

    There is a process for each of `devices`; of one, this process runs them. Where it is not this
    process, a notice about `subject` says what it is; `unit` is what a ticket is, in the singular,
    and `work` what processes share. `meter` counts what all have done.
    """
    if how.cluster is not None:
        from snellen.jobs.sharing.cluster import Cluster

        with Cluster(how.cluster, how.device, how.threads, events, meter) as cluster:
            room = counted(cluster.room, unit)
            said = f"a cluster of Ray: {room} at once, each with {cluster.needs}"
            notify(events, subject, said)
            yield cluster
        return
    if len(devices) == 1:
        worker = Worker(devices[0], how.threads or available(), events, lambda units: None)
        yield Here(partial(_done, worker))
        return
    from snellen.jobs.sharing.pool import Pool

    with Pool(devices, share(devices), events, meter) as pool:
        where = ", ".join(dict.fromkeys(devices))
        what = "" if work is None else f" share {work}"
        notify(events, subject, f"{counted(len(devices), 'worker')} on {where}{what}")
        yield pool


def _done(worker: Worker, ticket: Ticket) -> Done:
    """Return what becomes of a ticket that this process runs."""
    try:
        return worker.run(ticket)
    except Exception as error:
        return ticket.failed(unexpected(error))


def in_order(
    executor: Executor,
    tickets: Iterator[Ticket],
    ahead: int,
    done: Callable[[Done, int], object] | None = None,
) -> Iterator[Done]:
    """Run tickets, whose keys are 0, 1, 2 …, and yield what became of each, in their order.

    So many tickets of each slot as `ahead` says may be finished before an earlier one is. `done` is
    called at once with what became of each, and how many have ended.
    """
    found: dict[int, Done] = {}
    given = taken = ended = 0
    while True:
        while given - ended < executor.slots and given - taken < ahead * executor.slots:
            ticket = next(tickets, None)
            if ticket is None:
                break
            executor.submit(ticket)
            given += 1
        if given == ended:
            return
        one = executor.wait()
        found[one.key] = one
        ended += 1
        if done is not None:
            done(one, ended)
        while taken in found:
            yield found.pop(taken)
            taken += 1
