"""Locks on folders: one process at a time, and none that a dead process keeps."""

import os
import signal
import sys

import pytest

from scripts import fork, holding
from spoonful.locking import FolderInUse, locked

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@needs_fork
def test_the_second_process_learns_who_holds_the_folder_and_a_kill_frees_it(tmp_path):
    with holding(tmp_path / "new" / "folder") as process:
        said = rf"in use by process {process} on .* since 2"
        with pytest.raises(FolderInUse, match=said), locked(tmp_path / "new" / "folder"):
            pass
    with locked(tmp_path / "new" / "folder"):
        pass
    with locked(tmp_path / "new" / "folder"):  # and again after an orderly end
        pass


@needs_fork
@pytest.mark.slow
def test_of_many_processes_that_start_at_once_one_gets_the_folder(tmp_path):
    read, write = os.pipe()

    def compete() -> None:
        os.close(write)
        os.read(read, 1)  # all start when the pipe is closed
        with locked(tmp_path):
            signal.pause()

    children = [fork(compete) for _ in range(8)]
    os.close(write)
    os.close(read)
    losers = [os.waitpid(-1, 0) for _ in range(7)]
    assert all(os.waitstatus_to_exitcode(status) == 1 for _, status in losers)
    (winner,) = set(children) - {pid for pid, _ in losers}
    os.kill(winner, signal.SIGKILL)
    assert os.waitpid(winner, 0)[1] == signal.SIGKILL


@pytest.mark.parametrize("command", [("train",), ("sweep", "--seeds", "2")], ids=lambda c: c[0])
def test_training_where_another_process_trains_is_an_error_and_writes_nothing(
    tmp_path, capsys, command
):
    from spoonful.cli.app import run

    name, *more = command
    with locked(tmp_path):
        assert run([name, "quick", "--quiet", "--out", str(tmp_path), *more]) == 2
    assert f"in use by process {os.getpid()} " in capsys.readouterr().err
    assert os.listdir(tmp_path) == [".lock"]


@pytest.mark.skipif(sys.platform == "win32", reason="open files cannot be deleted there")
def test_a_folder_is_removed_again_if_the_work_in_it_was_refused(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "used" / "before").mkdir(parents=True)
    for name in ("new/run", "there", "used/now"):
        with pytest.raises(ValueError, match="refused"), locked(tmp_path / name):
            raise ValueError("refused")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["there", "used"]
    assert [each.name for each in (tmp_path / "used").iterdir()] == ["before"]


def test_a_folder_that_was_written_to_stays_if_the_work_fails(tmp_path):
    def fail():
        with locked(tmp_path / "run"):
            (tmp_path / "run" / "checkpoint").touch()
            raise ValueError("failed")

    with pytest.raises(ValueError, match="failed"):
        fail()
    assert (tmp_path / "run" / "checkpoint").is_file()
