"""Download an archive, check it and unpack it, so that a dataset is complete or not there.

Everything happens in a temporary folder beside the destination. The file is downloaded by pooch,
checked against its SHA-256, unpacked, and moved into place by one rename. A download that fails
starts again from the beginning. Certificates are always verified.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import urllib.parse
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from spoonful.data.clouds.limits import expect_expansion
from spoonful.extras import require

Progress = Callable[[int, int | None], None]

_CHUNK = 1 << 18
_HELP = (
    ". Try again, or download the file in another way and give it with --from-file, or give "
    "another address with --url"
)
_TRUST = ". If you trust this file nevertheless, give --sha256 with the first of the two"


class FetchError(OSError):
    """A dataset could not be fetched; the message says why and what to do."""


@dataclass(frozen=True)
class Archive:
    """A published zip file.

    Attributes:
        url: where it is published.
        sha256: of the file, 64 hexadecimal digits.
        size: of the file in bytes.
        folder: the folder inside it that is the dataset.
    """

    url: str
    sha256: str
    size: int
    folder: str


def fetch(
    archive: Archive,
    to: Path,
    *,
    url: str | None = None,
    from_file: Path | None = None,
    sha256: str | None = None,
    looks_right: Callable[[Path], bool] = lambda folder: True,
    progress: Progress | None = None,
    timeout: float = 30.0,
    attempts: int = 3,
) -> Path:
    """Put a dataset into a folder, from the network or from a file.

    Args:
        archive: what is published.
        to: the folder that gets `archive.folder`.
        url: another address of the same file.
        from_file: the file, already downloaded; nothing is sent or received.
        sha256: another checksum, for a file that you trust though it is not the published one.
        looks_right: tells if the unpacked folder holds the dataset.
        progress: is called with (bytes so far, bytes in all or None) while downloading.
        timeout: seconds without a byte after which the connection counts as broken.
        attempts: how often to try the download.

    Returns:
        The dataset's folder. If it is there already, nothing is done.

    Raises:
        FetchError: with what is wrong and what to do; nothing is left behind.
    """
    place = to / archive.folder
    if place.exists():
        if place.is_dir() and looks_right(place):
            return place
        raise FetchError(f"{place}: it exists and is not this dataset; move it away first")
    wanted = _checksum(sha256 or archive.sha256)
    address = url or archive.url
    try:
        to.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=to, prefix=".fetching-") as scratch:
            if from_file is None:
                file = download(address, Path(scratch), progress, timeout, attempts, _HELP)
                verify(file, wanted, address, _TRUST)
            else:
                file = from_file.expanduser()
                verify(file, wanted, str(file), _TRUST)
            made = unzip(file, Path(scratch) / "unpacked") / archive.folder
            if not made.is_dir() or not looks_right(made):
                raise FetchError(f"{file}: the archive does not hold {archive.folder} as expected")
            note = {"url": None if from_file else address, "sha256": wanted}
            (made / "fetched.json").write_text(json.dumps(note, indent=1) + "\n")
            os.rename(made, place)
    except FetchError:
        raise
    except OSError as error:
        raise FetchError(f"{error.filename or to}: {error.strerror or error}") from error
    return place


def download(
    url: str,
    folder: Path,
    progress: Progress | None = None,
    timeout: float = 30.0,
    attempts: int = 3,
    hint: str = "",
) -> Path:
    """Download `url` into a folder; returns the file, whose checksum is not verified yet."""
    if urllib.parse.urlsplit(url).scheme not in ("https", "http"):
        raise FetchError(f"{url}: an https address is needed")
    pooch = require("pooch", extra="data", why="Downloading datasets")
    errors = require("requests", extra="data", why="Downloading datasets").exceptions
    pooch.get_logger().setLevel("WARNING")
    store = pooch.create(
        folder,
        base_url="",
        registry={"archive.zip": None},
        urls={"archive.zip": url},
        retry_if_failed=attempts - 1,
    )
    bar = False if progress is None else _Bar(progress)
    downloader = pooch.HTTPDownloader(progressbar=bar, chunk_size=_CHUNK, timeout=timeout)
    try:
        return Path(store.fetch("archive.zip", downloader=downloader))
    except errors.RequestException as error:
        raise FetchError(f"{url}: {error}{hint}") from error


def unzip(file: Path, to: Path) -> Path:
    """Unpack a zip file into a new folder; returns the folder.

    Names that lead out of the folder lose those parts, links become plain files, and archives
    that unpack to more than 100 times their size are refused.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
            expect_expansion(unpacked, file.stat().st_size, "the archive")
            archive.extractall(to)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise FetchError(f"{file}: not a whole zip file ({error})") from error
    except ValueError as error:
        raise FetchError(f"{file}: {error}") from error
    return to


class _Bar:
    """A progress bar with the methods that pooch calls."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._done = self._total = 0

    def _start(self, total: int) -> None:
        self._done, self._total = 0, total

    total = property(fset=_start)  # set at the start of each attempt

    def update(self, count: int) -> None:
        self._done += count  # pooch counts whole chunks
        self._progress(min(self._done, self._total or self._done), self._total or None)

    def reset(self) -> None:
        self._done = 0

    def close(self) -> None:
        pass


def _checksum(text: str) -> str:
    digits = text.strip().lower()
    if len(digits) != 64 or set(digits) - set("0123456789abcdef"):
        raise ValueError(f"sha256 must be 64 hexadecimal digits, got {text!r}")
    return digits


def verify(file: Path, sha256: str, name: str, hint: str = "") -> None:
    """Raise unless a file has this SHA-256; `name` is what the message calls the file."""
    with file.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != sha256:
        raise FetchError(f"{name}: its SHA-256 is {found}, but {sha256} is expected{hint}")
