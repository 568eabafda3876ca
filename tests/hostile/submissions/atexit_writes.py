# Right answers; at the end of the program a last frame and a file for the results folder.
import atexit

from .attempts import attempt, send


@atexit.register
def last_words():
    send(b"\x00" * 4096)
    attempt("a file at exit", lambda: open("hostile_trace.json", "w"))
    attempt("a file at exit", lambda: open("/tmp/hostile_trace.json", "w"))
