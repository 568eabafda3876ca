# Right answers; a gigabyte wherever a file may be made.
from .attempts import attempt


def write(path):
    written = 0
    with open(path, "wb") as file:
        while written < 1 << 30:
            written += file.write(bytes(1 << 20))
    return written


for folder in ("/tmp", "/dev/shm", "/submission", "/submission/assignment", "/var/tmp", "/run", "."):
    attempt(f"a huge file in {folder}", lambda: write(f"{folder}/hostile_trace.bin"))
