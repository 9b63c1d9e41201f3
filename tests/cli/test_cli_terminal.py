"""What reaches the terminal: one line for each of ours, whatever a name or a stream is like."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys

import click
import pytest

from snellen.cli import terminal
from snellen.errors import OutputError
from support.cli import run

pytestmark = pytest.mark.usefixtures("signals")

FOREIGN = [
    ("plain [b] → ü", "plain [b] → ü"),
    ("a\nerror: forged", "a\\nerror: forged"),
    ("\r\t\b\x7f", "\\r\\t\\x08\\x7f"),
    ("\x1b[31m", "\\x1b[31m"),
    ("\x9b31m", "\\x9b31m"),
    ("\u2028\u2029\u202e\u2066\u200b\ufeff", "\\u2028\\u2029\\u202e\\u2066\\u200b\\ufeff"),
    (os.fsdecode(b"\xff\xfe"), "\\xff\\xfe"),
    ("\ud800", "\\ud800"),
    ("\U000e0041\u3164\u00ad\ue000", "\\U000e0041\\u3164\\xad\\ue000"),
]


@pytest.mark.parametrize(("text", "wanted"), FOREIGN)
def test_what_cannot_be_seen_is_escaped(capsys, text, wanted):
    assert terminal.shown(text) == wanted
    terminal.out(text)
    terminal.err(text)
    assert capsys.readouterr() == (wanted + "\n", wanted + "\n")


@pytest.mark.slow
def test_no_character_ends_a_line_or_commands_a_terminal():
    everything = "".join(map(chr, range(0x110000)))
    shown = terminal.shown(everything)
    assert shown.isprintable() and len(shown.splitlines()) == 1
    assert not {"\x1b", "\u202e", "\x85"} & set(shown)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "cp037", "utf-16", "utf-8"])
def test_any_encoding(monkeypatch, encoding):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    terminal.out("2×3 → ü \ud800")
    text = raw.getvalue().decode(encoding)
    assert text.startswith("2") and "3 " in text and text.endswith("\\ud800\n")


class Full(io.StringIO):
    def __init__(self, number):
        super().__init__()
        self.number = number

    def write(self, text):
        raise OSError(self.number, os.strerror(self.number))


@pytest.mark.parametrize(("number", "is_pipe"), [(errno.EPIPE, True), (errno.ENOSPC, False)])
def test_streams_that_take_nothing(monkeypatch, number, is_pipe):
    monkeypatch.setattr(sys, "stdout", Full(number))
    monkeypatch.setattr(sys, "stderr", Full(number))
    terminal.err("is dropped")
    with pytest.raises(terminal.Lost) as caught:
        terminal.out("is needed")
    assert caught.value.is_pipe == is_pipe
    command = click.command("doctor")(lambda: terminal.out("is needed"))
    monkeypatch.setattr("snellen.cli.doctor.doctor", command)
    assert run("doctor") == (141 if is_pipe else 1)


@pytest.mark.cases(6)
@pytest.mark.parametrize(
    "words",
    [
        ["\x1b[31m\nerror: forged"],
        ["upscale", "--\x1b[31m\nx", "-o", "x"],
        ["upscale", "a.png", "-o", "x", "--scale", "\x1b[31m\n3"],
        ["upscale", "a.png", "-o", "x", "--chroma", "\x1b[31m\u202e"],
        ["upscale", "a\x1b[31m\n.png", "-o", "x"],
        ["upscale", "a.png", "-o", "x", "--model", "\x1b[31m\nm"],
        ["upscale", "a.png", "-o", "x", "-e", "\x1b[31m\n"],
        ["upscale", "a.png", "-o", "x", "--device", "\x1b[31m\n"],
        ["upscale", "a.png", "-o", "x", "--start", "\x1b[31m\n"],
        ["score", "a\x1b.png", "b\n.png"],
        ["deblur", "a.png", "-o", "x", "--roi", "\x1b[31m\n"],
        ["deblur", "a.png", "-o", "x", "--psf-start", "\x1b[31m\n"],
        ["train", "--images", "\x1b[31m\n", "-o", "x.safetensors"],
        ["train", "--images", "x", "-o", "x.safetensors", "--about", "\x1b[31m\n"],
        ["doctor", "\x1b[31m\n"],
    ],
)
def test_an_error_is_one_line_whatever_was_typed(capsys, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    assert run(*words) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and err.count("\n") == 1
    assert err[:-1].isprintable()


def shell(line, **environment):
    """Run a line of a shell in which $S is the command."""
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, errors="replace", timeout=60,
        env={**os.environ, "S": f"{sys.executable} -m snellen", **environment},
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="for /dev/full")
@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("$S doctor --json >/dev/full", 1, "error: standard output could not be written: No space"),
        pytest.param(
            "$S doctor --json >&-",
            1,
            "error: standard output could not be written: it is closed",
            marks=pytest.mark.slow,
        ),
        ("$S upscale - -o - <&-", 2, "error: standard input is closed"),
        ("$S --help 2>&-", 0, ""),
        ("$S nothing 2>/dev/full", 2, ""),
        ("$S nothing 2>&-", 2, ""),
        ("$S --help | :; exit ${PIPESTATUS[0]}", 0, ""),
    ],
)
def test_streams_that_are_closed_or_full(line, code, said):
    done = shell(line)
    assert done.returncode == code or (code == 0 and done.returncode == 141)
    assert done.stderr.startswith(said) and done.stderr.count("\n") == bool(said)


@pytest.mark.slow
def test_a_reader_that_goes_away_ends_the_command_in_silence():
    process = subprocess.Popen(
        [sys.executable, "-m", "snellen", "doctor", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    process.stdout.close()
    assert process.stderr.read() == b"" and process.wait(60) == 141
    process.stderr.close()


def test_help_in_an_encoding_that_lacks_characters():
    done = shell("$S deblur --help", PYTHONIOENCODING="latin-1")
    assert (done.returncode, done.stderr) == (0, "") and "INPUT..." in done.stdout


def test_a_file_never_gets_the_number_of_a_standard_stream():
    program = (
        "import os\nfrom snellen.cli import terminal\nterminal.prepare()\n"
        "file = os.open(os.devnull, os.O_RDONLY)\nos._exit(0 if file > 2 else 1)"
    )
    done = subprocess.run(
        ["bash", "-c", '"$0" -c "$1" <&- >&- 2>&-', sys.executable, program], timeout=60
    )
    assert done.returncode == 0


def test_the_reason_behind_an_error_is_found():
    try:
        try:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")
        except OSError as error:
            raise OutputError("<stdout> could not be written") from error
    except OutputError as error:
        assert terminal.gone(error).errno == errno.EPIPE
    assert terminal.gone(OSError(errno.ENOSPC, "full")) is None


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="for /dev/full")
@pytest.mark.parametrize(
    ("where", "code", "lines"),
    [("| head -c 20 >/dev/null; exit ${PIPESTATUS[0]}", 141, 0), (">/dev/full", 1, 1)],
)
def test_video_to_a_standard_output_that_is_lost(tmp_path, where, code, lines):
    header = b"YUV4MPEG2 W64 H48 F25:1 Ip A1:1 C420jpeg\n"
    frame = b"FRAME\n" + bytes(range(256)) * 18
    (tmp_path / "in.y4m").write_bytes(header + 40 * frame)
    done = shell(f"$S upscale {tmp_path}/in.y4m -o - {where}")
    assert (done.returncode, done.stderr.count("\n")) == (code, lines), done.stderr
