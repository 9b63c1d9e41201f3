"""Messages are short, whatever names and texts of others are in them."""

from __future__ import annotations

import pickle
from collections import OrderedDict, UserDict, deque
from types import MappingProxyType

import pytest

import snellen
from snellen import errors, jobs
from snellen.jobs.events import Collected, Silent

LONG = "x" * 100_000
MOST = errors.LONGEST_TEXT + errors.LONGEST_ADVICE + 2


def test_the_middle_is_left_out():
    error = errors.InputError(f"got `preset`={LONG}; expected one of fast, slow", advice=LONG)
    assert len(str(error)) <= MOST
    assert error.message.startswith("got `preset`=xxx")
    assert error.message.endswith("xxx; expected one of fast, slow") and "…" in error.message
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert len(error.args[0]) <= MOST and len(error.about(LONG).text) <= MOST
    assert len(errors.InputError(f"a {LONG}").renamed(a="b").text) <= MOST


def test_a_list_of_files_stays_whole():
    text = "; ".join(f"film-{number}.mkv: no such file" for number in range(60))
    assert str(errors.InputError(text)) == text
    long = errors.shortened("; ".join([LONG, *(f"film-{n}.mkv: damaged" for n in range(40))]))
    assert all(f"film-{n}.mkv: damaged" in long for n in range(40))


@pytest.mark.slow
def test_many_short_words():
    found = errors.shortened("first " + "word " * 100_000 + "last")
    assert len(found) == errors.LONGEST_TEXT
    assert found.startswith("first word") and found.endswith("word last")


class Silence:
    def __str__(self):
        raise RuntimeError("no answer")


ODD = [Silence(), type(LONG, (Silence,), {})(), 10**100_000]


@pytest.mark.parametrize("odd", ODD, ids=["silence", "long class", "digits"])
def test_any_object(odd):
    error = errors.InputError(odd, parameter=odd, advice=odd)
    assert len(str(error)) <= MOST and len(errors.quoted(odd)) <= 2 * errors.LONGEST
    assert isinstance(error.parameter, str)


def many(found, levels):
    for _ in range(levels):
        found = [found, found]
    return found


FULL = many(1, 60)
"""Of whose numbers there are 2^60."""
CONTAINERS = [FULL, (FULL,), deque([FULL]), UserDict(a=FULL), OrderedDict(a=FULL), [deque([FULL])],
              {"a": MappingProxyType({"b": FULL})}, type("Own", (list,), {})([FULL])]  # fmt: skip


@pytest.mark.parametrize("odd", CONTAINERS, ids=lambda one: type(one).__name__)
def test_containers_of_more_than_can_be_said(odd):
    assert len(errors.quoted(odd)) <= errors.LONGEST
    assert len(errors.quoted(odd, str)) <= errors.LONGEST
    assert len(str(errors.InputError(odd, advice=odd))) <= MOST
    with pytest.raises(errors.InputError, match="got threads="):
        jobs.UpscaleJob(source="a.mkv", target="b.mkv", threads=odd)


def test_an_address_that_is_cut_keeps_its_secrets():
    address = f"https://name:word@example.com/film.mkv?{'a' * 3000}=key"
    said = str(errors.InputError(f"{address} cannot be read"))
    assert "word" not in said and "key" not in said and "example.com/film.mkv" in said


@pytest.mark.cases
@pytest.mark.parametrize(
    "given",
    [{name: LONG} for name in ("preset", "codec", "pix_fmt", "crop", "vf", "model", "device",
                               "cluster", "size", "start", "fps", "map", "max_bitrate", "denoise")]
    + [{"encoder_options": {LONG: "a"}}, {"encoder_options": {"preset": LONG}}, {"lut": LONG},
       {"cluster": f"a:{'9' * 100_000}"}, {"threads": 10**100_000}, {"target_mad": 10**100_000},
       {"preset": LONG, "codec": "libx264"}],
    ids=lambda given: next(iter(given)),
)  # fmt: skip
def test_of_a_file(given, tmp_path):
    film = tmp_path / "a.y4m"
    film.write_bytes(b"YUV4MPEG2 W64 H64 F25:1 Ip C420\n" + (b"FRAME\n" + bytes(6144)) * 2)
    with pytest.raises(errors.SnellenError) as caught:
        snellen.upscale_file(film, tmp_path / "b.mkv", **({"device": "cpu"} | given))
    assert len(str(caught.value)) <= MOST and caught.value.exit_code == 2


def test_warnings_of_a_job():
    said = []

    class Heard(Silent):
        def warning(self, subject, message):
            said.append(message)

        notice = warning

    events = Collected(Heard())
    events.warning("a.mkv", f"the tag {LONG} is lost")
    events.notice("a.mkv", f"the tag {LONG} is there")
    texts = [*said, events.warnings[0][1]]
    assert len(texts) == 3 and all(len(text) <= errors.LONGEST_TEXT for text in texts)


COMMANDS = [["--scale", LONG], ["--crf", "9" * 100_000], [f"--{LONG}"], ["-o", LONG]]


@pytest.mark.parametrize("words", COMMANDS, ids=["scale", "crf", "an option", "a name"])
def test_of_a_command(words, tmp_path, capsys):
    from snellen.cli import main

    (tmp_path / "a.png").write_bytes(b"")
    with pytest.raises(SystemExit) as caught:
        main(["upscale", str(tmp_path / "a.png"), *words])
    said = capsys.readouterr().err
    assert caught.value.code == 2 and said.startswith("error: ") and len(said) <= MOST + 200


def test_a_command_that_does_not_exist(capsys):
    from snellen.cli import main

    with pytest.raises(SystemExit):
        main([LONG])
    assert len(capsys.readouterr().err) <= MOST + 200


def test_json_of_a_job():
    with pytest.raises(errors.InputError) as caught:
        jobs.UpscaleJob.from_json('{"' + LONG + '": 1}')
    assert len(str(caught.value)) <= MOST
