# Right answers; as many threads as there may be.
import threading

from .attempts import attempt

stop = threading.Event()


def threads():
    for number in range(500):
        threading.Thread(target=stop.wait, daemon=True).start()
    return number


attempt("500 threads", threads)
stop.set()
