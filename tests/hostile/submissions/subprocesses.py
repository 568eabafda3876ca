# Right answers; other programs by every road.
import multiprocessing
import os
import subprocess
import sys

from .attempts import attempt

attempt("subprocess", lambda: subprocess.run([sys.executable, "-c", "0"]).returncode == 0)
attempt("shell", lambda: subprocess.run("true", shell=True).returncode == 0)
attempt("os.system", lambda: os.system("true") == 0)
attempt("os.popen", lambda: os.popen("echo something").read())
attempt("posix_spawn", lambda: os.posix_spawn(sys.executable, ["python", "-c", "0"], {}))


def multi():
    process = multiprocessing.get_context("fork").Process(target=print)
    process.start()
    return process.pid


attempt("multiprocessing", multi)
