"""Writes whole files to addresses of stores, s3 and gs, where they appear at once."""

from __future__ import annotations

import errno
from pathlib import Path

from snellen.errors import InputError
from snellen.files.failures import causes, is_passing, reason
from snellen.files.remote import Remote
from snellen.files.transfer import system, tried
from snellen.files.waiting import waiting


def is_there(path: Remote) -> bool:
    """Return whether there is something at an address, as far as one may know (or InputError)."""
    return tried(path, lambda: _exists(path), "answer", "reached")


def _exists(path: Remote) -> bool:
    """Return as `is_there`; errors are those of the libraries."""
    store = system(path)
    store.invalidate_cache()
    try:
        return bool(store.exists(path.url))
    except PermissionError:  # what S3 says of a missing object to who may not list the others
        return False


def check_bucket(path: Remote) -> None:
    """Refuse (InputError) an output where no bucket answers, as far as one may know."""
    store = system(path)
    bucket = path.url.partition("://")[2].partition("/")[0]
    try:
        with waiting(path, "the store to answer"):
            try:
                store.info(bucket)
            except FileNotFoundError:
                if not store.exists(bucket):  # s3fs 2025.3 says so of an empty one, too
                    raise InputError(f"{path}: there is no bucket {bucket}") from None
    except InputError:
        raise
    except Exception as error:
        if is_passing(error) or _says(error, "NoCredentialsError", "ParamValidationError"):
            raise InputError(f"{path} cannot be written: {reason(path, error)}") from None
        return  # who may write into one may not be let to look at it


def upload(file: Path, path: Remote, overwrite: bool) -> None:
    """Write a whole file to an address of s3 or gs, where it appears at once.

    OSError or InputError: it cannot be written, or something is there without `overwrite`.
    """
    try:
        with waiting(path, "the store to take it"):
            written = _put(file, path, overwrite)
    except Exception as error:
        if not overwrite and _says(error, "PreconditionFailed", "FileExistsError"):
            raise FileExistsError(errno.EEXIST, "it has come to exist meanwhile") from None
        raise OSError(errno.EIO, reason(path, error)) from None
    if written != file.stat().st_size:
        raise OSError(errno.EIO, "what is there is not what was sent")


def _put(file: Path, path: Remote, overwrite: bool) -> int | None:
    """Write as `upload`, and return the bytes that are there; errors are those of the libraries."""
    store = system(path)
    store.invalidate_cache()
    if not overwrite and _exists(path):
        raise FileExistsError
    try:
        store.put_file(str(file), path.url, mode="overwrite" if overwrite else "create")
    except Exception as error:
        if overwrite or not _says(error, "NotImplemented"):  # by stores like Amazon's
            raise
        store.put_file(str(file), path.url)
    written: int | None = store.info(path.url).get("size")
    return written


def _says(error: Exception, *words: str) -> bool:
    """Return whether an error, or what led to it, is of such a name or has it in its text."""
    texts = [f"{type(one).__name__} {one}" for one in causes(error)]
    return any(word in text for word in words for text in texts)
