"""Resolve the user's inputs to files, and name each scan."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spoonful.data.clouds.formats import FORMATS

# Beside scans of other formats, tables in a folder are more often notes than scans.
_TABLES = (".txt", ".csv", ".npz")
# Scans that an error names.
_NAMED = 20


def list_scans(inputs: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """The scans among the inputs: files, the files of folders, and the files named in lists.

    A `.txt` file whose first line names a scan is a list: one file per line, relative to the
    list's folder. Of a folder, all files of scans are taken; .txt, .csv and .npz only if
    it has no others.

    Raises:
        ValueError: there are fewer than two scans.
        OSError: a file or folder is missing.
    """
    found: list[Path] = []
    for given in map(Path, inputs):
        if given.is_dir():
            own, tables = _inside(given)
            if not own and not tables:
                raise ValueError(f"{given}: the folder has no scans ({', '.join(FORMATS)})")
            found += own or tables
        elif not given.exists():
            raise FileNotFoundError(f"{given}: no such file or folder")
        else:
            found += _listed(given) or [given]
    unique = list({path.resolve(): path for path in found}.values())
    if len(unique) < 2:
        left = ", ".join(path.name for path in tables_left_out(inputs)[:_NAMED])
        more = f"; skipped, because they may be notes: {left}; name them to align them"
        raise ValueError(f"give at least two scans, got {len(unique)}{more if left else ''}")
    return unique


def tables_left_out(inputs: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """The tables in folders that `list_scans` skips."""
    inside = [_inside(Path(given)) for given in inputs if Path(given).is_dir()]
    return [path for own, tables in inside if own for path in tables]


def _inside(folder: Path) -> tuple[list[Path], list[Path]]:
    """The scans in a folder, and the tables, which may be notes; each in natural order."""
    # Hidden files are no scans: macOS writes ._scan.ply beside scan.ply on other systems' disks.
    files = [
        path
        for path in folder.iterdir()
        if path.suffix.lower() in FORMATS and path.is_file() and not path.name.startswith(".")
    ]
    tables = [path for path in files if path.suffix.lower() in _TABLES]
    own = [path for path in files if path.suffix.lower() not in _TABLES]
    return sorted(own, key=_natural), sorted(tables, key=_natural)


def scan_names(paths: Sequence[Path]) -> dict[str, Path]:
    """A unique name for each file: its stem, with the folder's name or a number if needed.

    Tabs, line ends and other characters that cannot be printed become underscores.
    """
    names: dict[str, Path] = {}
    stems = Counter(path.stem for path in paths)
    for path in paths:
        name = path.stem
        if stems[name] > 1:
            name = f"{path.resolve().parent.name}-{path.stem}"
        name = "".join(letter if letter.isprintable() else "_" for letter in name)
        unique = name
        for k in itertools.count(2):
            if unique not in names:
                break
            unique = f"{name}-{k}"
        names[unique] = path
    return names


def renamed(files: Mapping[str, Path]) -> list[str]:
    """A sentence for each scan whose name is not its file's; see `scan_names`.

    >>> renamed({"one": Path("one.ply"), "two-2": Path("two.pcd")})
    ['two-2 is two.pcd']
    """
    return [f"{name} is {path}" for name, path in files.items() if name != path.stem]


def find_scan(given: str | os.PathLike[str], files: Mapping[str, Path]) -> Path:
    """The file with a given path or name, or with this end of its path without extension.

    Args:
        given: as typed.
        files: all scans by name, see `scan_names`.

    Raises:
        ValueError: no scan is meant, or several; the message lists the names.

    >>> files = scan_names([Path("a/one.ply"), Path("a/two.ply")])
    >>> find_scan("one", files).name
    'one.ply'
    >>> find_scan("three", files)
    Traceback (most recent call last):
    ValueError: fixed must be one of the scans, got three; there are: one, two
    """
    wanted, last = Path(given), len(Path(given).parts)

    def ends(path: Path) -> bool:
        both = path.absolute(), path.absolute().with_suffix("")
        return any(whole.parts[-last:] == wanted.parts for whole in both)

    found = (
        [path for path in files.values() if path.resolve() == wanted.resolve()]
        or [path for name, path in files.items() if name == os.fspath(given)]
        or [path for path in files.values() if ends(path)]
    )
    if len(found) > 1:
        listed = " or ".join(map(str, found[:_NAMED]))
        raise ValueError(f"fixed must be one scan, and {given} may be {listed}")
    if not found:
        listed = ", ".join([*files][:_NAMED]) + (", ..." if len(files) > _NAMED else "")
        raise ValueError(f"fixed must be one of the scans, got {given}; there are: {listed}")
    return found[0]


def _listed(path: Path) -> list[Path]:
    """The files that a list names; empty if the file is not a list."""
    if path.suffix.lower() not in (".txt", ".lst"):
        return []
    try:
        lines = [line.strip() for line in path.read_text("utf-8-sig").splitlines()]
    except UnicodeDecodeError:
        return []
    named = [path.parent / line for line in lines if line and not line.startswith("#")]
    if not named or not (named[0].suffix.lower() in FORMATS or named[0].exists()):
        return []
    missing = [str(file) for file in named if not file.exists()]
    if missing:
        listed = ", ".join(missing[:_NAMED]) + (", ..." if len(missing) > _NAMED else "")
        raise FileNotFoundError(f"{path}: it names files that do not exist: {listed}")
    return named


def _natural(path: Path) -> list[Any]:
    """A key that sorts scan_2 before scan_10, and scan.ply before its copy, scan (1).ply."""
    parts = ["".join(group) for _, group in itertools.groupby(path.stem, str.isdigit)]
    numbered = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]
    return [*numbered, (0, -1, path.suffix)]
