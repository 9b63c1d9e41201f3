"""The weights with which a training begins: those of a network in a checkpoint, lengthened.

A convolution is added after the others as the identity, with slopes of 1: the longer network first
computes what the shorter one does.
"""

from __future__ import annotations

import json
from typing import Any

import torch
from torch import Tensor

from snellen.errors import InputError
from snellen_lab.cnn.network import Network

DRAWN = {"into", "edges"}  # weights of branches that count nothing until `out`, `strength` do


def beginning(start: str, like: Network) -> dict[str, Tensor]:
    """Return weights of a network in a checkpoint, and their mean.

    Parameters
    ----------
    start : str
        CHECKPOINT#NAME. Its mean of weights is taken.
    like : Network
        The network that gets them: as many channels, and at least as many convolutions.

    Raises
    ------
    InputError
        There is no such network, or it has another shape.
    """
    from safetensors import SafetensorError, safe_open

    path, _, name = start.rpartition("#")
    try:
        with safe_open(path, "pt") as file:
            mean = file.get_tensor(f"{name}.mean")
            tasks = json.loads(file.metadata()["run"])["identity"]["tasks"]
        (task,) = [one for one in tasks if one["name"] == name]
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise InputError(f"got start {start!r}; expected CHECKPOINT#NAME: {error}") from error
    grown = lengthened(mean, task, like)
    return {"weights": grown, "mean": grown.clone()}


def lengthened(weights: Tensor, task: dict[str, Any], like: Network) -> Tensor:
    """Return the weights of a network, with identities for the convolutions that `like` has more.

    Parameters
    ----------
    weights : (n,) float32
        All parameters of the shorter network, one after another.
    task : dict
        Its `Task`.

    Raises
    ------
    InputError
        It has another scale, more convolutions, other channels, or no branches.
    """
    short = Network(
        task["scale"], task["layers"], task["channels"], side=task["side"],
        branches=task["branches"], seed=0,
    )  # fmt: skip
    given = [one.shape for one in short.parameters()]
    parts = weights.split([shape.numel() for shape in given])
    found = []
    for (name, wanted), part, shape in zip(like.named_parameters(), parts, given, strict=False):
        more = wanted.shape[0] - shape[0]
        growing = name == "slopes" or name.startswith("body.")
        if shape[1:] != wanted.shape[1:] or more < 0 or (more and not growing):
            break
        kind = name.split(".")[-1]
        added = wanted.detach().cpu()[shape[0] :].clone()
        if kind not in DRAWN:
            added.fill_(1.0 if kind == "slopes" else 0.0)
        found.append(torch.cat([part.view(shape), added]).ravel())
    same = len(found) == len(given) == len(list(like.parameters()))
    if not same or (like.layers > short.layers and not task["branches"]):
        raise InputError(
            f"{task['name']} has another shape: it can begin a network with branches, its scale, "
            "its channels, and as many convolutions or more"
        )
    return torch.cat(found)
