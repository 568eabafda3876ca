# Right answers; a note for the next student, and a look at what the one before left.
import os

from .attempts import attempt

FOLDERS = ("/tmp", "/dev/shm", "/var/tmp", "/run", "/run/lock", "/dev/mqueue", "/submission", ".")


def write(folder):
    with open(f"{folder}/hostile_trace_note", "a") as note:
        return note.write("apply_rope is a rotation\n")


for folder in FOLDERS:
    attempt(f"read in {folder}", lambda: [n for n in os.listdir(folder) if "hostile_trace" in n])
for folder in FOLDERS:
    attempt(f"write in {folder}", lambda: write(folder))
attempt("change numpy", lambda: open(np.__file__, "a"))
attempt("change the worker", lambda: open(__import__("__main__").__file__, "a"))
attempt("change its own source", lambda: open(__file__, "a"))
attempt("compiled files", lambda: os.mkdir(os.path.join(os.path.dirname(__file__), "__pycache__")))
