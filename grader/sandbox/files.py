"""The files a worker needs: a copy of the submission and the worker's own program."""

import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

MAX_FILES = 200
MAX_SUBMISSION_BYTES = 32 << 20
HERE = Path(__file__).parent
# As they are named below this folder, and below the folder that a worker has them in.
WORKER_FILES = ("wire.py", *(f"worker/{p.name}" for p in sorted((HERE / "worker").glob("*.py"))))
START = "worker/start.py"
CONFINE = "confine.py"
FOLDER_PREFIX = "grader-worker-"


def submission_files(submission: Path) -> dict[str, bytes]:
    """The submission's Python files and notebook cells, read without following links.

    They are copied for the worker: it sees no folder of the host, whoever owns it.
    """
    files, total = {}, 0
    root = Path(submission)
    for path in sorted(root.rglob("*")):
        wanted = path.suffix == ".py" or path.name == "notebook_cells.json"
        if not wanted or path.is_symlink() or not path.is_file():
            continue
        files[path.relative_to(root).as_posix()] = content = path.read_bytes()
        total += len(content)
        if len(files) > MAX_FILES or total > MAX_SUBMISSION_BYTES:
            raise ValueError(
                f"{root} holds more than {MAX_FILES} files or {MAX_SUBMISSION_BYTES >> 20} MiB"
            )
    return files


@cache
def worker_source(name: str) -> bytes:
    """The text of one of WORKER_FILES or of confine.py."""
    return (HERE / name).read_bytes()


class WorkerFolder:
    """A folder on disk for one worker, for tiers that cannot make one in memory.

    `worker/` holds the programs, `submission/` the copy. With a group, only that group can enter
    and read it; nobody but the owner can write.
    """

    def __init__(self, submission: Path | None, group: int | None = None):
        self.path = Path(tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}{os.getpid()}-")).resolve()
        self.worker, self.submission = self.path / "worker", self.path / "submission"
        try:
            self._fill(submission_files(submission) if submission is not None else {}, group)
        except BaseException:
            self.remove()
            raise

    def _fill(self, files: dict[str, bytes], group: int | None) -> None:
        contents = {self.submission / name: text for name, text in files.items()}
        contents |= {self.worker / name: worker_source(name) for name in (*WORKER_FILES, CONFINE)}
        folders = {self.worker, self.submission}
        folders |= {p for file in contents for p in file.parents if self.path in p.parents}
        for folder in sorted(folders):
            folder.mkdir()
        for file, text in contents.items():
            file.write_bytes(text)
            file.chmod(0o444)
        for folder in folders:
            folder.chmod(0o755)
        if group is not None:
            os.chown(self.path, -1, group)
            self.path.chmod(0o750)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def remove_left_behind() -> None:
    """Remove folders of workers whose grader was killed before it could."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        number = folder.name.removeprefix(FOLDER_PREFIX).partition("-")[0]
        mine = not folder.is_symlink() and folder.lstat().st_uid == os.geteuid()
        if mine and number.isdigit() and not Path(f"/proc/{number}").exists():
            shutil.rmtree(folder, ignore_errors=True)
