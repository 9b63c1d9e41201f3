"""snellen.score_files, which does from Python what the command does."""

from __future__ import annotations

from typing import Unpack

from snellen.jobs.calls.execute import raised
from snellen.jobs.calls.report_after import with_report
from snellen.jobs.events import Events
from snellen.jobs.inputs.patterns import the_only
from snellen.jobs.kinds.score import ScoreJob, ScoreResult
from snellen.jobs.options.arguments import takes
from snellen.jobs.options.keywords import ScoreKeywords
from snellen.jobs.options.options import File, path
from snellen.process import while_running
from snellen.schema import nested


@while_running
@takes(ScoreJob)
def score_files(
    reference: File,
    distorted: File,
    *,
    report: File | None = None,
    report_size: float = 30.0,
    events: Events | None = None,
    **options: Unpack[ScoreKeywords],
) -> ScoreResult:
    """Score how far a video, an image or a folder of images is from its reference by MAD.

    0 is no visible difference, higher is worse. Only luma counts, at the depth that it has. Videos
    meet frame by frame, by number; images of two folders meet by name without the suffix.

    Parameters
    ----------
    reference, distorted : str or Path
        Two videos (one may be "-": y4m on standard input), two images, or two folders of images.
    **options
        Options of `snellen.jobs.ScoreJob`.
    report : str, Path or None
        A report to look at, .html, as of `compare_files`: what was scored; None: none.
    report_size : float
        Most million bytes of the report.
    events : Events, optional
        Receives progress, warnings and each score.

    Returns
    -------
    ScoreResult
        `table.rows` are the scores, `table.pooled()` their statistics.

    Raises
    ------
    InputError, DeviceError
        Wrong use, unusable inputs or device. Of videos too short for ST-MAD the scores are there:
        `error.result` is the ScoreResult.
    OutputError
        Table or maps could not be written; `error.result` is the ScoreResult, or None where that
        was known before the work.
    IncompleteError
        A video was damaged: what could be decoded was scored, and `error.result` is the
        ScoreResult.
    """
    job = ScoreJob(
        reference=the_only(path(reference, "reference"), "reference"),
        distorted=the_only(path(distorted, "distorted"), "distorted"),
        **nested(ScoreJob, options),
    )
    return raised(with_report(job, report, report_size, events))
