"""snellen.compare_files, which does from Python what the command does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack

from snellen.jobs.calls.execute import raised, run
from snellen.jobs.events import Events
from snellen.jobs.inputs.patterns import the_only
from snellen.jobs.kinds.compare import CompareJob, CompareResult
from snellen.jobs.options.arguments import takes
from snellen.jobs.options.keywords import CompareKeywords
from snellen.jobs.options.options import File, path, paths
from snellen.process import while_running
from snellen.schema import nested


@while_running
@takes(CompareJob)
def compare_files(
    reference: File,
    variants: File | Iterable[File],
    target: File,
    *,
    events: Events | None = None,
    **options: Unpack[CompareKeywords],
) -> CompareResult:
    """Compare videos, images or folders of images with a reference, as one HTML file.

    The file opens offline in any browser: pictures on two sides of a divider, or side by side, with
    heat maps of MAD, curves of all frames, statistics, and facts about the files.

    Parameters
    ----------
    reference : str or Path
        A video, an image, or a folder of images.
    variants : str, Path, or several
        One to nine of the same kind, which are compared with it. What has another size is scaled by
        Lanczos to be scored; pictures are shown as they are. Images of folders meet by name without
        the suffix.
    target : str or Path
        The report, .html.
    **options
        Options of `snellen.jobs.CompareJob`.
    events : Events, optional
        Receives progress, warnings and each score.

    Returns
    -------
    CompareResult
        `scores` has the ScoreResult of each variant, `kept` says how pictures are kept.

    Raises
    ------
    InputError, DeviceError
        Wrong use, unusable inputs or device.
    OutputError
        The report could not be written; nothing is left under its name.
    IncompleteError
        A video was damaged: the report is there, and `error.result` is the CompareResult.
    """
    job = CompareJob(
        reference=the_only(path(reference, "reference"), "reference"),
        variants=tuple(the_only(one, "variants") for one in paths(variants, "variants")),
        target=path(target, "target"),
        **nested(CompareJob, options),
    )
    return raised(run(job, events))
