"""The tree of errors, as its docstring draws it; their parameter, advice and wording."""

from __future__ import annotations

import pickle

import pytest

from snellen import errors
from snellen.files.failures import reason
from snellen.files.remote import Remote

TREE = [
    ("SnellenError", (Exception,), 1),
    ("InputError", (errors.SnellenError, ValueError), 2),
    ("ModelError", (errors.InputError,), 2),
    ("DeviceError", (errors.SnellenError, RuntimeError), 2),
    ("DeviceMemoryError", (errors.DeviceError,), 2),
    ("OutputError", (errors.SnellenError, OSError), 1),
    ("IncompleteError", (errors.SnellenError, RuntimeError), 3),
]
KINDS = [getattr(errors, name) for name, _, _ in TREE]


def option(name):
    return "--" + name.replace("_", "-")


@pytest.mark.parametrize(("name", "bases", "code"), TREE)
def test_tree(name, bases, code):
    kind = getattr(errors, name)
    assert issubclass(kind, errors.SnellenError) and kind.exit_code == code
    assert all(issubclass(kind, base) for base in bases)
    bare = kind("got this")
    assert str(bare) == bare.message == "got this"
    assert bare.parameter is None and bare.advice is None


@pytest.mark.parametrize("kind", KINDS)
def test_wording_is_that_of_who_asks(kind):
    error = kind(
        "got `psf_size`=0; expected 1 or more", parameter="psf_size", advice="leave `psf` out"
    )
    assert str(error) == "got psf_size=0; expected 1 or more; leave psf out"
    assert error.worded(option) == "got --psf-size 0; expected 1 or more; leave --psf out"
    assert (error.parameter, error.advice) == ("psf_size", "leave `psf` out")
    assert error.text == "got `psf_size`=0; expected 1 or more; leave `psf` out"


def test_a_flag_has_no_value():
    error = errors.InputError("`a.png` exists", advice="choose another or give `overwrite`=True")
    assert str(error).endswith("give overwrite=True")
    assert error.worded(lambda name: f"--{name}").endswith("give --overwrite")
    assert error.renamed(overwrite="replace").text.endswith("`replace`=True")


def test_a_name_without_an_option_stays_as_python_has_it():
    error = errors.InputError("got `bits`=9 and `crf`=3; a file `A b` is no name of a parameter")
    words = {"bits": "bits", "crf": "--crf"}
    expected = "got bits=9 and --crf 3; a file `A b` is no name of a parameter"
    assert error.worded(words.__getitem__) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_a_pickled_error_keeps_all(kind):
    error = kind("got `tile`=2", parameter="tile", advice="take `tile`=3")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind and str(again) == str(error)
    assert (again.message, again.parameter, again.advice) == (
        "got `tile`=2",
        "tile",
        "take `tile`=3",
    )


def test_about_a_file():
    error = errors.ModelError("got `scale`=5", parameter="scale", advice="take 2").about("a.png")
    assert type(error) is errors.ModelError and error.parameter == "scale"
    assert str(error) == "a.png: got scale=5; take 2"


def test_renamed():
    error = errors.InputError("got `start`=0; see `tile`", parameter="start", advice="`start`=2")
    other = error.renamed(start="psf_start")
    assert str(other) == "got psf_start=0; see tile; psf_start=2"
    assert other.parameter == "psf_start"


def test_any_text_is_worded():
    assert errors.worded("`psf_size`=3 is odd", option) == "--psf-size 3 is odd"
    assert errors.plain("`psf_size`=3 is odd") == "psf_size=3 is odd"


SECRET = "https://me:key,17@host.org/a?sig=abc"


@pytest.mark.parametrize(
    "value",
    [
        SECRET,
        f"cuda:0,{SECRET}",
        ["cuda:0", SECRET],
        {"device": (SECRET,)},
        f"https://me:{'key17' * 100}@host.org/a",
        ["https://me:" + "key17" * 100 + "@host.org/a"],
        SECRET.encode(),
        ValueError(f"no such thing: {SECRET}"),
        [ValueError("x" * 90 + SECRET)],
    ],
)
def test_a_value_in_a_message_shows_no_secret(value):
    for how in (repr, str):
        text = errors.quoted(value, how)
        assert "://" in text and not any(word in text for word in ("key", "17", "abc"))


def test_words_behind_an_address_stay_in_a_message():
    error = OSError(f"got {SECRET} in vain; expected another")
    assert errors.quoted(error, str) == "got https://host.org/a in vain; expected another"


@pytest.mark.parametrize(
    "said",
    [
        "can't register atexit after shutdown",
        "cannot schedule new futures after interpreter shutdown",
        "can't create new thread at interpreter shutdown",
    ],
)
def test_what_a_library_cannot_start_at_the_end_is_no_fault_of_snellen(said):
    ours = errors.unexpected(RuntimeError(said))
    assert type(ours) is errors.SnellenError and "the program has ended" in str(ours)


def test_exhausted_memory_is_seen_behind_what_a_library_says_at_last():
    loading = "a.so: failed to map segment from shared object"
    try:
        try:
            raise OSError(loading)
        except OSError:
            raise OSError("could not find a.so, or its permissions are wrong") from None
    except OSError as error:
        behind = error
    for error in (behind, ImportError("x" * 3000 + loading), MemoryError()):
        ours = errors.unexpected(error)
        assert type(ours) is errors.SnellenError and ours.exit_code == 1
        assert "not enough memory" in str(ours)
    assert isinstance(errors.unexpected(ImportError("no module x")), errors.InternalError)


def test_an_address_at_the_end_of_a_program_is_not_said_to_have_nothing():
    address = Remote("http://a.example/film.mkv")
    try:
        try:
            raise RuntimeError("cannot schedule new futures after interpreter shutdown")
        except RuntimeError as behind:
            raise FileNotFoundError(address.url) from behind
    except FileNotFoundError as error:
        assert reason(address, error) == errors.ENDED
