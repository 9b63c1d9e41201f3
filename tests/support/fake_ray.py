"""A module that stands for Ray: tasks run when one waits for them, on nodes that a test names."""

from __future__ import annotations

import pickle
from types import ModuleType, SimpleNamespace


class RayError(Exception):
    """What Ray raises for a task; `cause` is what the task has raised."""

    def __init__(self, text="", cause=None):
        super().__init__(text)
        self.cause = cause


def fake_ray(*resources):
    """Return the module. Its `log` has what was called."""
    ray = ModuleType("ray")
    ray.exceptions = ModuleType("ray.exceptions")
    ray.exceptions.RayError = RayError
    ray.log, ray.connected, ray.crashes = [], False, []
    ray.machines = [{"Alive": True, "Resources": one} for one in resources]

    def init(address, **options):
        ray.log.append(("init", address, options))
        ray.connected = True

    def remote(**options):
        ray.log.append(("remote", options))

        def decorate(function):
            def submit(*arguments):
                one = SimpleNamespace(call=pickle.dumps((function, arguments)))
                return _Reference(one, options)

            return SimpleNamespace(remote=submit)

        return decorate

    def wait(references, num_returns, timeout):
        ray.log.append(("wait", len(references)))
        return references[-num_returns:], references[:-num_returns]

    def get(reference):
        for left in reversed(range(reference.options["max_retries"] + 1)):
            if ray.crashes:
                if not left:
                    raise RayError(ray.crashes[0])
                ray.crashes.pop()
                continue
            function, arguments = pickle.loads(reference.one.call)
            try:
                return pickle.loads(pickle.dumps(function(*arguments)))
            except Exception as error:
                if not (left and reference.options["retry_exceptions"]):
                    raise RayError("a task", error) from error

    def shutdown():
        ray.log.append(("shutdown",))
        ray.connected = False

    ray.init, ray.remote, ray.wait, ray.get, ray.shutdown = init, remote, wait, get, shutdown
    ray.is_initialized = lambda: ray.connected
    ray.nodes = lambda: ray.machines
    ray.cancel = lambda one, force=False: ray.log.append(("cancel", force))
    return ray


class _Reference:
    def __init__(self, one, options):
        self.one, self.options = one, options
