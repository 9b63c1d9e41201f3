"""Addresses: which there are, what is shown of them, and how they are read."""

from __future__ import annotations

import errno
import importlib.util
import pickle
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest

from snellen.addresses import shown, without_secrets
from snellen.errors import InputError
from snellen.files import opening, store, transfer
from snellen.files.remote import Remote, typed
from snellen.files.transfer import RemoteFile
from snellen.frames import values
from snellen.stills.still import Still, read, write
from support.web import served

web_only = pytest.mark.skipif(
    importlib.util.find_spec("fsspec") is None or importlib.util.find_spec("aiohttp") is None,
    reason="fsspec and aiohttp are not installed",
)
SECRET = "https://me:key@host.org:8443/a/film.mkv?X-Signature=abc#x"


@pytest.fixture
def web(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(transfer, "PAUSES", (0.0, 0.0))
    monkeypatch.setattr(transfer, "BLOCK", 1 << 16)
    with served() as web:
        yield web


@pytest.mark.parametrize(
    "text",
    ["file:///etc/passwd", "ftp://host/a", "smb://host/a", "memory://a", "data://a", "HTTPX://a"],
)
def test_other_schemes_are_refused(text):
    with pytest.raises(InputError, match="expected http, https, s3, gs"):
        typed(text)


@pytest.mark.cases(9)
@pytest.mark.parametrize(
    ("text", "why"),
    [("zip://a.zip::http://host/b", "several"), ("http://host/a::s3://b/c", "several"),
     ("http:///a", "no host"), ("s3://", "no host"), ("http://h/\n", "control"),
     ("http://[x/y", "got no"), ("simplecache::http://h/a", "several"),
     *((f"https://me:sec{one}ret@h/a", "https://…: got no port") for one in "/?#"),
     ("s3://me:sec/ret@bucket/a", "s3://…: got no port"),
     ("gs://me:secret@bucket/a", "more than a bucket")],
)  # fmt: skip
def test_what_is_no_address(text, why):
    with pytest.raises(InputError, match=why) as error:
        typed(text)
    assert "sec" not in str(error.value)


def test_a_file_of_that_very_name_wins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("http:/host").mkdir(parents=True)
    Path("http:/host/a.png").write_bytes(b"")
    found = typed("http://host/a.png")
    assert not isinstance(found, Remote) and found.exists()
    assert isinstance(typed("http://host/b.png"), Remote)


def test_only_texts_become_addresses():
    assert isinstance(values.path("source", "http://h/a"), Remote)
    assert not isinstance(values.path("source", Path("http://h/a")), Remote)
    for plain in ("http:/h/a", "c:/x", "a/http://h", "-"):
        assert not isinstance(typed(plain), Remote)


def test_an_address_shows_no_secret():
    path = typed(SECRET)
    assert isinstance(path, Remote) and path.is_secret and path.url == SECRET
    assert str(path) == "https://host.org:8443/a/film.mkv" == f"{path}" == shown(SECRET)
    assert "key" not in repr(path) and "abc" not in repr(path)
    assert (path.name, path.suffix, path.stem) == ("film.mkv", ".mkv", "film")
    again = pickle.loads(pickle.dumps(path))
    assert again == path and hash(again) == hash(path) and again.url == SECRET
    assert path != typed(shown(SECRET)) and not typed(shown(SECRET)).is_secret
    beside = [path.with_name("a"), path.with_suffix(".png"), path.with_stem("b"), path.parent / "c"]
    assert beside == [Path("a"), Path("film.png"), Path("b.mkv"), Path("c")]
    assert not any(isinstance(one, Remote) for one in beside)
    assert typed("http://h/ä b.png").url == "http://h/%C3%A4%20b.png"
    for word in ("http://me:key@h/a?sig=1 2", "http://me:a key@h/a"):
        assert without_secrets(f"--lut={word}") == "--lut=http://h/a"
    assert typed("s3://arn:aws:s3:us-west-2:1:accesspoint/a/b.mkv").name == "b.mkv"
    assert str(typed("http://[::1]:80/a")) == "http://[::1]:80/a"
    assert str(typed("s3://bucket/a#b?c.mkv") / "d.mkv") == "s3://bucket/a#b?c.mkv/d.mkv"
    assert (typed("s3://bucket/x/") / Path() / "a").url == "s3://bucket/x/a"


@pytest.mark.parametrize(
    ("scheme", "extra"), [("http", "urls"), ("https", "urls"), ("s3", "s3"), ("gs", "gcs")]
)
def test_the_extra_is_named(scheme, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(InputError, match=rf"pip install \"snellen\[{extra}\]\"") as error:
        opening.contents(typed(f"{scheme}://bucket/x.npy"), 9)
    assert error.value.exit_code == 2
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    assert extra in extras and "snellen[urls]" in extras["cluster"]


def test_a_store_that_has_gone(monkeypatch, tmp_path):
    class Gone:
        def invalidate_cache(self):
            pass

        def exists(self, url):
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('::1', 9)")

    monkeypatch.setattr(store, "system", lambda path: Gone())
    path = typed("s3://bucket/a")
    with pytest.raises(InputError, match=r"s3://bucket/a cannot be reached: Connection refused$"):
        store.is_there(path)
    with pytest.raises(OSError, match=r"^\[Errno \d+\] Connection refused$"):
        store.upload(tmp_path / "a", path, False)


def test_importing_snellen_imports_no_fsspec():
    code = "import snellen, sys, snellen.cli; print({'fsspec', 'aiohttp'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"


@web_only
def test_a_picture(web, tmp_path):
    pixels = np.arange(60, dtype=np.uint8).reshape(6, 10)
    write(tmp_path / "a.png", Still(pixels))
    url = web.put("a.png", (tmp_path / "a.png").read_bytes())
    web.ranges = web.length = False  # of no need for what is read as a whole
    assert (read(typed(url)).pixels == pixels).all()
    with pytest.raises(InputError, match="more than 20 bytes"):
        opening.contents(typed(url), 20)


@web_only
def test_parts_are_read(web):
    data = np.random.default_rng(1).bytes(40 << 16)
    path = typed(web.put("a.bin", data))
    with RemoteFile(path) as file:
        assert file.state[0] == len(data) == file.seek(0, 2) and file.read(5) == b""
        assert file.seek(70_000) == 70_000 and file.read(70_000) == data[70_000:140_000]
        assert file.seek(-10, 2) == len(data) - 10 and file.read() == data[-10:]
        assert file.seek(-1) < 0 and file.seek(0, 0x10000) < 0
        assert web.sent == 3 << 16
        file.seek(70_000)
        file.read(10)
        assert web.sent == 3 << 16 and not file.changed
        web.put("a.bin", data[:-1] + b"x")
        assert file.changed
        web.put("a.bin", data[:100])
        file.seek(20 << 16)
        with pytest.raises(InputError, match="shorter"):
            file.read(9)


@web_only
def test_servers_that_send_no_parts(web):
    path = typed(web.put("a.bin", bytes(1 << 18)))
    web.ranges = False
    with RemoteFile(path) as file:
        file.seek(1 << 17)
        with pytest.raises(InputError, match="does not send parts of it; download it first"):
            file.read(9)
    web.length = False
    with pytest.raises(InputError, match="how long it is; download it first"):
        RemoteFile(path)


@web_only
def test_no_more_is_read_than_was_asked_for(web):
    data = bytes(1 << 24)
    path = typed(web.put("a.bin", data[: 1 << 17]))
    with RemoteFile(path) as file:
        web.too_much = True
        web.files["/a.bin"] = data
        assert file.read(9) == bytes(9)
    time.sleep(0.1)
    assert web.took < 1 << 23


@web_only
def test_what_breaks_is_tried_again(web):
    data = bytes(range(256)) * 1024
    path = typed(web.put("a.bin", data) + "?key=secret")
    with RemoteFile(path) as file:
        web.broken = 2
        assert file.read(1000) == data[:1000]
        web.broken = 9
        file.seek(200_000)
        with pytest.raises(InputError) as error:
            file.read(1000)
    assert str(error.value).startswith(f"{path} cannot be read: ") and "secret" not in repr(error)
    assert error.value.__cause__ is None and error.value.__suppress_context__


@web_only
def test_answers_of_servers(web):
    url = web.put("a.png", b"x")
    for status, tries in ((403, 2), (500, 6)):
        web.statuses["/a.png"], web.asked[:] = (status,), []
        with pytest.raises(InputError, match=f"HTTP {status}"):
            transfer.status(typed(url.replace("//", "//me:secret@") + "?k=secret"))
        assert len(web.asked) == tries  # HEAD and GET
    for ask in (lambda path: opening.contents(path, 9), transfer.status):
        with pytest.raises(InputError, match="none cannot be read: there is nothing at this"):
            ask(typed(f"{web.base}/none"))
    with pytest.raises(InputError, match="cannot be read: Connection refused"):
        opening.contents(typed("http://127.0.0.1:1/none?k=secret"), 9)
    web.hangs_up = True
    with pytest.raises(InputError) as error:
        transfer.status(typed(f"{web.base}/a.png"))
    assert "nothing" not in str(error.value)


@web_only
def test_servers_that_repeat_what_they_were_asked(web):
    address = web.put("a", b"").replace("//", "//me:secret@") + "?k=secret2&d=%73ecret3"
    for said in ("no secret", "secret2", "secret3", "?k=secret2&d=%73ecret3"):
        web.statuses["/a"] = 403, said
        with pytest.raises(InputError, match=r"HTTP 403 .*…") as error:
            opening.contents(typed(address), 9)
        assert "secret" not in str(error.value) and "%73" not in str(error.value)


@web_only
def test_redirects_lead_to_http_only(web, tmp_path):
    (tmp_path / "a").write_bytes(b"local")
    web.put("a", b"far")
    web.redirects["/there"] = f"{web.base}/a"
    assert opening.contents(typed(f"{web.base}/there"), 9) == b"far"
    for number, goal in enumerate([(tmp_path / "a").as_uri(), "ftp://127.0.0.1/a", "s3://b/a"]):
        web.redirects[f"/{number}"] = goal
        with pytest.raises(InputError, match="redirects to what is no http address"):
            opening.contents(typed(f"{web.base}/{number}"), 9)
        with pytest.raises(InputError, match="redirects to what is no http address"):
            RemoteFile(typed(f"{web.base}/{number}"))
    web.redirects["/round"] = f"{web.base}/round"
    with pytest.raises(InputError, match="again and again"):
        opening.contents(typed(f"{web.base}/round"), 9)


def answer(head, body=b"abcde"):
    return b"HTTP/1.1 " + head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + body


@web_only
@pytest.mark.parametrize(
    ("sent", "said"),
    [(b"hello\r\n\r\n", "the server's answer is broken: ."),
     (answer("200 OK\nTransfer-Encoding: chunked", b"zz\r\n"), "the server's answer is broken: ."),
     (answer("200 OK\nContent-Length: 500"), "the server's answer is broken: ."),
     (answer("200 OK\nno header"), "the server's answer is broken: ."),
     (answer("302 Found\nContent-Length: 0", b""), r"without an address \(HTTP 302\)$"),
     (answer("302 Found\nContent-Length: 5"), r"without an address \(HTTP 302\)$"),
     (answer("204 No Content", b""), "the server answers HTTP 204 No Content$"),
     (answer("400 Bad Request\nContent-Length: 0", b""), "read: HTTP 400 Bad Request$")],
)  # fmt: skip
def test_answers_that_are_no_file(web, sent, said):
    """Of what is read as a whole, and of films; the number of a broken answer is not told."""
    web.raw["/a"] = sent
    path = typed(f"{web.base}/a")
    for read_it in (lambda: opening.contents(path, 9), lambda: RemoteFile(path).read(5)):
        with pytest.raises(InputError, match=said) as error:
            read_it()
        assert ("HTTP 400" in str(error.value)) == (b"400" in sent)


def test_addresses_where_only_files_can_be(tmp_path):
    """One message, and exit code 2."""
    from snellen.cli.config_file import config_of
    from snellen.cli.log import Log
    from snellen.files import atomic
    from snellen.mad import heatmap

    path = typed("http://me:secret@h/a.log")
    for refused in (
        lambda: atomic.check_target(path, None, False),
        lambda: Log(path, "snellen"),
        lambda: heatmap.check(path, False),
        lambda: config_of("http://me:secret@h/a.log"),
    ):
        with pytest.raises(InputError, match=r"^http://h/a\.log is an address; expected"):
            refused()


@web_only
def test_a_film_that_changes_between_two_openings(web, tmp_path):
    """A run opens its input several times; what it was at first counts, for files as well."""
    from snellen.files.protection import protected

    (tmp_path / "a.mkv").write_bytes(b"abc")
    address = typed(web.put("a.mkv", b"abc"))
    for path in (tmp_path / "a.mkv", address):
        with protected([path]):
            assert not opening.for_ffmpeg(path).changed
            web.put("a.mkv", b"abcd")
            (tmp_path / "a.mkv").write_bytes(b"abcd")
            assert opening.for_ffmpeg(path).changed
        assert not opening.for_ffmpeg(path).changed
        (tmp_path / "a.mkv").write_bytes(b"abc")
        web.put("a.mkv", b"abc")
