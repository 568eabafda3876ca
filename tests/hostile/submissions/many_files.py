# Right answers; empty files and folders until there are no inodes left.
import os

from .attempts import attempt


def files(folder):
    for number in range(20_000):
        open(f"{folder}/hostile_trace_{number}", "w").close()
    return number


def folders(folder):
    for number in range(20_000):
        os.mkdir(f"{folder}/hostile_trace_folder_{number}")
    return number


def links(folder):
    os.symlink("/etc/passwd", f"{folder}/hostile_trace_link")
    os.mkfifo(f"{folder}/hostile_trace_pipe")
    return "a link"


for folder in ("/tmp", "/dev/shm", "/var/tmp", "/submission"):
    attempt(f"files in {folder}", lambda: files(folder))
    attempt(f"folders in {folder}", lambda: folders(folder))
    attempt(f"links in {folder}", lambda: links(folder))
