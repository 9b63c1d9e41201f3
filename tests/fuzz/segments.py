"""Films in segments: their plans, and the folders of which a killed run is taken up."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import chdir
from fractions import Fraction
from functools import cache
from hashlib import sha256
from pathlib import Path

import av
import numpy as np

from fuzz.case import FOLDER, TIME, Case, Random
from fuzz.kinds import kind, odd, perhaps

_SOURCE, _TARGET, _PLAN = "in/film.mkv", "out/result.mkv", "in/film.plan"
_KEPT = _TARGET + ".segments/"
_SECONDS = 70
"""Of the film, at a frame a second: it is cut."""


@cache
def _film() -> bytes:
    """Return a film of 70 seconds with sound."""
    random = np.random.default_rng(14)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "film.mkv"
        with av.open(str(file), "w") as out:
            stream = out.add_stream("mpeg4", rate=1, options={"g": "5"})
            stream.width, stream.height, stream.pix_fmt = 48, 32, "yuv420p"
            for number in range(_SECONDS):
                picture = np.full((32, 48, 3), 3 * number, np.uint8)
                picture[8:20, 10:30] = random.integers(0, 255, (12, 20, 3))
                frame = av.VideoFrame.from_ndarray(picture, "rgb24").reformat(format="yuv420p")
                frame.pts, frame.time_base = number, Fraction(1)
                out.mux(stream.encode(frame))
            out.mux(stream.encode(None))
        return file.read_bytes()


@cache
def _begun(command: str) -> dict[str, bytes]:
    """Return the files of a run that was ended: the plan, if it has one, and a part of segments."""
    import snellen
    from snellen.jobs import Encoding, UpscaleJob, VideoOptions
    from snellen.jobs.calls.plans import run_segments, write_plan

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        for part in ("in", "out"):
            (folder / part).mkdir()
        source, target, plan = folder / _SOURCE, folder / _TARGET, folder / _PLAN
        source.write_bytes(_film())
        os.utime(source, ns=(TIME, TIME))
        if command == "deblur":
            with chdir(folder):  # the name of the PSFs' file is part of the job
                snellen.deblur_file(source, target, prior=None, psf_size=3, iterations=1,
                                    device="cpu", preset="ultrafast", psf_out="out/psf.npy",
                                    threads=1, keep_segments=True)  # fmt: skip
            target.unlink()
            for lost in (3, 5):
                (folder / _KEPT / f"{lost:04d}.packets").unlink()
        else:
            job = UpscaleJob(source=source, target=target, device="cpu", threads=1,
                             video=VideoOptions(encoding=Encoding(preset="ultrafast")))  # fmt: skip
            write_plan(job, plan)
            run_segments(plan, 1, 3 if command == "plan" else 7)
        found = {f"{_KEPT}{one.name}": one.read_bytes()
                 for one in sorted((folder / _KEPT).iterdir())}  # fmt: skip
        found[_SOURCE] = _film()
        if plan.exists():
            found[_PLAN] = plan.read_bytes().replace(os.fsencode(folder), FOLDER)
        return found


@kind(1)
def plan(random: Random) -> Case:
    """A harmed plan of segments, of which a part is made or all are joined."""
    joined = random.random() < 0.5
    files = dict(_begun("whole" if joined else "plan"))
    if random.random() < 0.5:
        facts = json.loads(files[_PLAN])
        note = "odd values"
        files[_PLAN] = json.dumps(odd(random, facts)).encode()
    else:
        files[_PLAN], note = perhaps(random, files[_PLAN])
    words = ["upscale", "--plan", _PLAN]
    words += ["--join"] if joined else ["--segments", random.choice(("1:2", "7", "1:99999", "4"))]
    return Case(words, files, ("", _KEPT), note, whole=note == "whole", judged=False)


@kind(2)
def segments(random: Random) -> Case:
    """A run that was ended, of which something has changed, and the command that goes on."""
    command = random.choice(("plan", "deblur"))
    files = dict(_begun(command))
    files.pop(_PLAN, None)
    note, trusted = _changed(random, files)
    words = ["upscale", _SOURCE, "--device", "cpu", "--preset", "ultrafast", "--threads", "1"]
    outputs = (_TARGET,)
    if command == "deblur":
        words[0] = "deblur"
        words += ["--prior", "none", "--psf-size", "3", "--iterations", "1", "--psf-out",
                  "out/psf.npy"]  # fmt: skip
        outputs += ("out/psf.npy",)
    words += ["-o", _TARGET]
    if random.random() < 0.2:
        words += ["--discard-segments"]
    return Case(words, files, (*outputs, _KEPT), note, judged=trusted, whole=note == "whole")


def _changed(random: Random, files: dict[str, bytes]) -> tuple[str, bool]:
    """Change some files of a folder of segments; return how, and whether checksums tell."""
    names = [name for name in files if name.startswith(_KEPT) and files[name]]
    records = [name for name in names if name.endswith(".record")]
    packets = [name for name in names if name.endswith(".packets")]
    what = random.randrange(8)
    if what == 0:
        name = random.choice(names)
        files[name], note = perhaps(random, files[name])
        return note if note == "whole" else f"{name}: {note}", True
    if what == 1:
        one, two = random.sample(random.choice((records, packets)), 2)
        files[one], files[two] = files[two], files[one]
        return f"{one} and {two} are exchanged", True
    if what in (2, 3):
        name = random.choice([*records, _KEPT + "manifest.json"])
        files[name] = json.dumps(odd(random, json.loads(files[name]))).encode()
        return f"{name}: odd values", False
    if what in (4, 5):  # with the right checksum
        name = random.choice(records)
        bytes_of = name.removesuffix("record") + random.choice(("packets", "notes"))
        bytes_of = bytes_of if bytes_of in files else name.removesuffix("record") + "packets"
        if bytes_of not in files:
            return "whole", True
        files[bytes_of], note = perhaps(random, files[bytes_of])
        facts = json.loads(files[name])
        which = "notes" if bytes_of.endswith("notes") else "checksum"
        facts["record"][which] = sha256(files[bytes_of]).hexdigest()
        if which == "checksum" and random.random() < 0.8:
            facts["record"]["size"] = len(files[bytes_of])
        files[name] = json.dumps(facts).encode()
        return f"{bytes_of}: {note}, with its checksum", note == "whole"
    if what == 6:
        extra = random.choice(("../../x.record", "0002.record.d/x", "9999.record", "x.packets",
                               ".x.snellen-y", "-1.record", "manifest.json.record"))  # fmt: skip
        files[os.path.normpath(_KEPT + extra)] = random.choice((b"", b"{}", files[records[0]]))
        return f"there is {extra}", True
    name = random.choice(records)
    facts = json.loads(files[name])
    for key in random.sample(("frames", "delay", "size", "moved", "transparent", "number"), 2):
        facts["record"][key] = random.choice((2**31, 2**63, -5, 10**12, 0, 1, 10**30))
    files[name] = json.dumps(facts).encode()
    return f"{name}: {facts['record']}", False
