"""Jobs: what a run is, as values, and the functions that run them.

::

    job = UpscaleJob(source="a.mkv", target="b.mkv", scale=2)
    text = job.to_json()                       # a file, a queue, another machine …
    result = run(UpscaleJob.from_json(text))   # an UpscaleResult

The functions for files (`snellen.upscale_file` …) and the command line make jobs and run them.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from snellen import _loaded

__all__ = [
    "Bar", "Clip", "CompareJob", "CompareResult", "DeblurJob", "DeblurResult", "DryRun", "Encoding",
    "Enhancement", "Events", "Job", "MadSettings", "MiaSettings", "NetworkSettings", "PairScore",
    "PreviewResult", "Progress", "Region", "ScoreJob", "ScoreResult", "ScoreRow", "ScoreTable",
    "Settings", "Silent", "TrainJob", "TrainResult", "UpscaleJob", "UpscaleResult", "VideoOptions",
    "dry_run", "join_plan", "preview", "run", "run_segments", "run_several", "score_pairs",
    "write_plan",
]  # fmt: skip

if TYPE_CHECKING:
    from snellen.aplus.training import Settings as Settings
    from snellen.cnn.training import NetworkSettings as NetworkSettings
    from snellen.jobs.bar import Bar as Bar
    from snellen.jobs.compare import CompareJob as CompareJob
    from snellen.jobs.compare import CompareResult as CompareResult
    from snellen.jobs.deblur import DeblurJob as DeblurJob
    from snellen.jobs.deblur import DeblurResult as DeblurResult
    from snellen.jobs.dry import DryRun as DryRun
    from snellen.jobs.dry import dry_run as dry_run
    from snellen.jobs.enhance import Enhancement as Enhancement
    from snellen.jobs.events import Events as Events
    from snellen.jobs.events import Progress as Progress
    from snellen.jobs.events import Silent as Silent
    from snellen.jobs.execute import run as run
    from snellen.jobs.options import MadSettings as MadSettings
    from snellen.jobs.options import MiaSettings as MiaSettings
    from snellen.jobs.options import VideoOptions as VideoOptions
    from snellen.jobs.pair_scores import PairScore as PairScore
    from snellen.jobs.pair_scores import score_pairs as score_pairs
    from snellen.jobs.plans import join_plan as join_plan
    from snellen.jobs.plans import run_segments as run_segments
    from snellen.jobs.plans import write_plan as write_plan
    from snellen.jobs.positions import Region as Region
    from snellen.jobs.previews import PreviewResult as PreviewResult
    from snellen.jobs.previews import preview as preview
    from snellen.jobs.score import ScoreJob as ScoreJob
    from snellen.jobs.score import ScoreResult as ScoreResult
    from snellen.jobs.score_table import ScoreRow as ScoreRow
    from snellen.jobs.score_table import ScoreTable as ScoreTable
    from snellen.jobs.serial import Job as Job
    from snellen.jobs.several import run_several as run_several
    from snellen.jobs.train import TrainJob as TrainJob
    from snellen.jobs.train import TrainResult as TrainResult
    from snellen.jobs.upscale import UpscaleJob as UpscaleJob
    from snellen.jobs.upscale import UpscaleResult as UpscaleResult
    from snellen.video.clip import Clip as Clip
    from snellen.video.sink.encoding import Encoding as Encoding

_HOME = {
    "Bar": "snellen.jobs.bar",
    "Clip": "snellen.video.clip",
    "CompareJob": "snellen.jobs.compare",
    "CompareResult": "snellen.jobs.compare",
    "DeblurJob": "snellen.jobs.deblur",
    "DeblurResult": "snellen.jobs.deblur",
    "DryRun": "snellen.jobs.dry",
    "Encoding": "snellen.video.sink.encoding",
    "Enhancement": "snellen.jobs.enhance",
    "Events": "snellen.jobs.events",
    "Job": "snellen.jobs.serial",
    "MadSettings": "snellen.jobs.options",
    "MiaSettings": "snellen.jobs.options",
    "NetworkSettings": "snellen.cnn.training",
    "PairScore": "snellen.jobs.pair_scores",
    "PreviewResult": "snellen.jobs.previews",
    "Progress": "snellen.jobs.events",
    "Region": "snellen.jobs.positions",
    "ScoreJob": "snellen.jobs.score",
    "ScoreResult": "snellen.jobs.score",
    "ScoreRow": "snellen.jobs.score_table",
    "ScoreTable": "snellen.jobs.score_table",
    "Settings": "snellen.aplus.training",
    "Silent": "snellen.jobs.events",
    "TrainJob": "snellen.jobs.train",
    "TrainResult": "snellen.jobs.train",
    "UpscaleJob": "snellen.jobs.upscale",
    "UpscaleResult": "snellen.jobs.upscale",
    "VideoOptions": "snellen.jobs.options",
    "dry_run": "snellen.jobs.dry",
    "join_plan": "snellen.jobs.plans",
    "preview": "snellen.jobs.previews",
    "run": "snellen.jobs.execute",
    "run_segments": "snellen.jobs.plans",
    "run_several": "snellen.jobs.several",
    "score_pairs": "snellen.jobs.pair_scores",
    "write_plan": "snellen.jobs.plans",
}


if not TYPE_CHECKING:  # which would find any name in the module

    def __getattr__(name: str) -> object:
        """Import a name when it is first used."""
        if name not in _HOME:
            raise AttributeError(f"module 'snellen.jobs' has no attribute {name!r}")
        if sys.is_finalizing():
            return _loaded(name, __name__)
        from importlib import import_module

        return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
