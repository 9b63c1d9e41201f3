"""Command lines, run in the process of the test."""

from __future__ import annotations

from snellen.cli import main


def run(*words):
    """Exit code of a command line."""
    try:
        main([str(word) for word in words])
    except SystemExit as end:
        return end.code or 0
    return 0


def refused(command, capsys, words, *said):
    """Check for exit code 2, one line of error with these words in it, and nothing on stdout."""
    assert run(command, *words) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and err.count("\n") == 1
    assert all(text in err for text in said), err


def names(folder):
    """Return the names of a folder's files."""
    return sorted(path.name for path in folder.iterdir())
