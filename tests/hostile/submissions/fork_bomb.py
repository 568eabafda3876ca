# Right answers; children that would outlive the worker.
import os
import time

from .attempts import attempt


def fork():
    for _ in range(20):
        if os.fork() == 0:
            os.setsid()
            time.sleep(600)
            os._exit(0)
    return "twenty children"


attempt("fork", fork)
