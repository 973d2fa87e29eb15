"""Download an archive and unpack it, so that a dataset is either whole and checked, or not there.

The file is downloaded beside its destination under another name, continued where an earlier
attempt broke off, checked against its SHA-256, unpacked into a folder of its own, and moved into
place by one rename. Certificates are always verified.
"""

from __future__ import annotations

import errno
import hashlib
import http.client
import json
import os
import shutil
import ssl
import stat
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from spoonful.data.clouds.limits import expect_expansion

Progress = Callable[[int, int | None], None]

# What a member of an archive may be called at most, and how many there may be.
_LONGEST_NAME, _MOST_FILES = 500, 200_000
# The most that is downloaded when neither we nor the server know the size.
_MOST_BYTES = 16 << 30
_CHUNK = 1 << 18
# Troubles of this machine's disk, not of the connection.
_LOCAL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.ENOENT)


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
    attempts: int = 4,
    pause: float = 2.0,
) -> Path:
    """Put a dataset into a folder, from the network or from a file.

    Args:
        archive: what is published.
        to: the folder that gets `archive.folder`.
        url: another address of the same file.
        from_file: the file, already downloaded; nothing is sent or received.
        sha256: another checksum, for a file that you trust though it is not the published one.
        looks_right: whether the unpacked folder holds what it should.
        progress: is told (bytes so far, bytes in all or None) while downloading.
        timeout: seconds without a byte after which the connection counts as broken.
        attempts: how often to try again without having got any further.
        pause: seconds before trying again.

    Returns:
        The dataset's folder. If it is there already, nothing is done.

    Raises:
        FetchError: with what is wrong and what to do; nothing is left in place of the dataset.
    """
    place = to / archive.folder
    if place.exists():
        if place.is_dir() and looks_right(place):
            return place
        raise FetchError(f"{place}: something else is there; move it away first")
    wanted = _checksum(sha256 or archive.sha256)
    published = sha256 is None
    try:
        to.mkdir(parents=True, exist_ok=True)
        if from_file is not None:
            file = from_file.expanduser()
            _verify(file, wanted, f"{file}")
        else:
            address = url or archive.url
            file = to / f"{archive.folder}.zip"
            download(
                address,
                file,
                sha256=wanted,
                size=archive.size if published else None,
                progress=progress,
                timeout=timeout,
                attempts=attempts,
                pause=pause,
            )
        with tempfile.TemporaryDirectory(dir=to, prefix=".unpacking-") as unpacked:
            unzip(file, Path(unpacked))
            made = Path(unpacked) / archive.folder
            if not made.is_dir() or not looks_right(made):
                raise FetchError(f"{file}: the archive does not hold {archive.folder} as expected")
            note = {"url": None if from_file else url or archive.url, "sha256": wanted}
            (made / "fetched.json").write_text(json.dumps(note, indent=1) + "\n")
            os.rename(made, place)
        if from_file is None:
            file.unlink()
    except FetchError:
        raise
    except OSError as error:
        raise FetchError(f"{error.filename or to}: {error.strerror or error}") from error
    return place


def download(
    url: str,
    file: Path,
    *,
    sha256: str,
    size: int | None = None,
    progress: Progress | None = None,
    timeout: float = 30.0,
    attempts: int = 4,
    pause: float = 2.0,
) -> None:
    """Download `url` to `file`, continuing what an earlier call left behind.

    What has arrived is kept in `FILE.part`, over broken connections and over runs of the
    program, until the whole is there and its checksum is right; then it becomes `file`.

    Args:
        url: an https address; http is accepted too, since the checksum is known.
        file: where to put it.
        sha256: what it must be.
        size: how many bytes it must have, where known: not one more is read.
        progress: is told (bytes so far, bytes in all or None).
        timeout: seconds without a byte after which the connection counts as broken.
        attempts: how often to try again without having got any further.
        pause: seconds before trying again.
    """
    if urllib.parse.urlsplit(url).scheme not in ("https", "http"):
        raise FetchError(f"{url}: an https address is needed")
    if file.exists():
        _verify(file, sha256, f"{file}")
        return
    part = _Part(file, url)
    best, failures = part.size(), 0
    while True:
        try:
            _receive(url, part, size, progress, timeout)
            break
        except (OSError, http.client.HTTPException) as error:
            _raise_if_final(url, error)
            failures = 0 if part.size() > best else failures + 1
            best = max(best, part.size())
            if failures > attempts:
                kept = f"; {best} bytes have come and are kept: run this again to go on from there"
                raise FetchError(f"{url}: {_reason(error)}{kept if best else ''}") from error
            time.sleep(pause)
    try:
        _verify(part.file, sha256, url)
    except FetchError:
        part.remove()
        raise
    os.replace(part.file, file)
    part.remove()


def unzip(file: Path, to: Path) -> None:
    """Unpack a zip file into an empty folder, and nothing outside of it.

    Refused are names that leave the folder, links, and archives that unpack to more than 100
    times their size.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            if len(members) > _MOST_FILES:
                raise FetchError(f"{file}: {len(members)} files in one archive are too many")
            expect_expansion(
                sum(member.file_size for member in members), file.stat().st_size, "the archive"
            )
            for member in members:
                place = to / _safe_name(file, member)
                if member.is_dir():
                    place.mkdir(parents=True, exist_ok=True)
                    continue
                place.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as packed, place.open("xb") as plain:
                    shutil.copyfileobj(packed, plain, _CHUNK)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise FetchError(f"{file}: not a whole zip file ({error})") from error
    except ValueError as error:
        raise FetchError(f"{file}: {error}") from error
    except FileExistsError as error:
        raise FetchError(f"{file}: it holds a file twice: {error.filename}") from error


class _Part:
    """A download under way: the bytes so far, and which version of the file they are from."""

    def __init__(self, file: Path, url: str) -> None:
        self.file = file.with_name(f"{file.name}.part")
        self._note = file.with_name(f"{file.name}.part.json")
        self._url = url
        self.version: str | None = None
        try:
            note: Any = json.loads(self._note.read_text(encoding="utf-8"))
            same = note["url"] == url
            self.version = note["version"] if same else None
        except (OSError, ValueError, KeyError, TypeError):
            same = False
        if not same:
            self.remove()

    def size(self) -> int:
        return self.file.stat().st_size if self.file.exists() else 0

    def begin(self, version: str | None) -> None:
        """Start from nothing, with a version that a server calls by this name."""
        self.version = version
        note = json.dumps({"url": self._url, "version": version})
        self._note.write_text(note, encoding="utf-8")
        self.file.write_bytes(b"")

    def remove(self) -> None:
        self.file.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)


def _receive(
    url: str, part: _Part, size: int | None, progress: Progress | None, timeout: float
) -> None:
    """Ask for the bytes that are missing, once; an error if they did not all come."""
    have = part.size()
    headers = {"User-Agent": "spoonful", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
        if part.version is not None:
            # If the file has changed meanwhile, the server sends all of the new one.
            headers["If-Range"] = part.version
    request = urllib.request.Request(url, headers=headers)
    try:
        answer = _opener().open(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            if size is not None and have == size:
                return
            part.remove()
            raise ConnectionError("what was kept did not fit and is fetched anew") from None
        raise
    with answer:
        if answer.status == http.HTTPStatus.PARTIAL_CONTENT:
            start, total = _content_range(answer.headers.get("Content-Range", ""))
            if start != have:
                part.remove()
                raise ConnectionError("the server sent another piece than asked for")
        else:
            length = answer.headers.get("Content-Length", "")
            total = int(length) if length.isdigit() else None
            have = 0
            etag = answer.headers.get("ETag", "")
            strong = etag if etag.startswith('"') else None
            part.begin(strong or answer.headers.get("Last-Modified"))
        if size is not None and total not in (None, size):
            part.remove()
            raise FetchError(f"{url}: it has {total} bytes, not the {size} that are published")
        limit = size or total or _MOST_BYTES
        with part.file.open("ab") as kept:
            # `read1` gives what has come; `read` would lose it when the rest does not come.
            while chunk := answer.read1(_CHUNK):
                have += len(chunk)
                if have > limit:
                    part.remove()
                    raise FetchError(f"{url}: the server sends more than {limit} bytes")
                kept.write(chunk)
                if progress is not None:
                    progress(have, size or total)
    expected = size or total
    if expected is not None and have < expected:
        raise ConnectionError(f"the connection broke after {have} of {expected} bytes")


class _SecureRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if req.type == "https" and urllib.parse.urlsplit(newurl).scheme != "https":
            raise FetchError(f"{req.full_url}: it redirects from https to {newurl}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> urllib.request.OpenerDirector:
    secure = urllib.request.HTTPSHandler(context=ssl.create_default_context())
    return urllib.request.build_opener(secure, _SecureRedirects)


def _raise_if_final(url: str, error: Exception) -> None:
    """Raise what trying again cannot mend."""
    if isinstance(error, FetchError):
        raise error
    if isinstance(error, OSError) and error.errno in _LOCAL:
        raise FetchError(f"{error.filename or 'writing the file'}: {error.strerror}") from error
    if isinstance(error, urllib.error.HTTPError) and error.code < 500:
        raise FetchError(f"{url}: the server answers {error.code} {error.reason}") from error
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, ssl.SSLCertVerificationError):
        raise FetchError(
            f"{url}: the server's certificate is not valid ({cause.verify_message}). It is not "
            "accepted; download the file in another way and give it with --from-file, "
            "or another address of it with --url: its checksum is known"
        ) from error


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answers {error.code} {error.reason}"
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return "no byte came in time"
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__


def _content_range(text: str) -> tuple[int | None, int | None]:
    """Start and total of `bytes START-END/TOTAL`."""
    span, _, total = text.removeprefix("bytes ").partition("/")
    start = span.partition("-")[0]
    return (
        int(start) if start.isdigit() else None,
        int(total) if total.isdigit() else None,
    )


def _checksum(text: str) -> str:
    plain = text.strip().lower()
    if len(plain) != 64 or set(plain) - set("0123456789abcdef"):
        raise ValueError(f"sha256 must be 64 hexadecimal digits, got {text!r}")
    return plain


def _verify(file: Path, sha256: str, name: str) -> None:
    with file.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != sha256:
        raise FetchError(
            f"{name}: its SHA-256 is {found}, but {sha256} is expected. If you trust this file "
            f"all the same, say so with --sha256 {found}"
        )


def _safe_name(file: Path, member: zipfile.ZipInfo) -> PurePosixPath:
    name = PurePosixPath(member.filename)
    kind = stat.S_IFMT(member.external_attr >> 16)
    unsafe = (
        name.is_absolute()
        or ".." in name.parts
        or not name.parts
        or any(sign in member.filename for sign in "\\:\0")
        or len(member.filename) > _LONGEST_NAME
        or kind not in (0, stat.S_IFREG, stat.S_IFDIR)
    )
    if unsafe:
        raise FetchError(f"{file}: it holds {member.filename!r:.80}, which is not unpacked")
    return name
