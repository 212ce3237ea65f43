"""Files and folders, on disk or on S3."""

from __future__ import annotations

import contextlib
import glob as _glob
import os
import tempfile
import warnings

from .. import _constants as C

__all__ = ["mkdir", "glob", "remove"]


def glob(url, separator=","):
    """All files that match one of several patterns; `separator=None` takes `url` for one pattern."""
    patterns = [url] if separator is None else url.split(separator)
    return [name for pattern in patterns for name in _glob.glob(os.path.expanduser(pattern.strip()))]


def remove(filename):
    """Deletes a file, if it is there; NotImplementedError for files on S3."""
    if C.S3_PREFIX in filename:
        raise NotImplementedError(f"{filename}: files on S3 cannot be deleted from here.")
    with contextlib.suppress(FileNotFoundError):
        os.remove(filename)


def mkdir(dirname):
    """Makes a folder and those above it; S3 needs no folders."""
    if C.S3_PREFIX in dirname:
        warnings.warn(f"{dirname} is on S3 and was not made.", stacklevel=2)
        return
    os.makedirs(os.path.expanduser(dirname), exist_ok=True)


@contextlib.contextmanager
def local_copy(filename, upload):
    """A local path for `filename`: itself, or for `s3://...` a temporary file, fetched first or uploaded at the end."""
    if C.S3_PREFIX not in filename:
        yield filename
        return
    try:
        import boto3
    except ImportError as error:
        raise ImportError(f"{filename} is on S3, which needs boto3: pip install boto3") from error
    bucket, _, key = filename.removeprefix(C.S3_PREFIX).partition("/")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, os.path.basename(key))
        if not upload:
            boto3.client("s3").download_file(bucket, key, path)
        yield path
        if upload:
            boto3.client("s3").upload_file(path, bucket, key)
