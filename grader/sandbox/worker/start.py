"""The program inside the sandbox, run as `python -I -S -B start.py '{"…": …}'`.

It first gives up what it was started with (resources, user id), then loads numpy and the worker,
then answers requests until the pipe closes. The order is the point: nothing of a submission is
imported before all is given up and this process's import path is closed again.
"""

import json
import os
import resource
import sys

CONFIG = json.loads(sys.argv[1])


def limit_resources(limits: dict[str, int]) -> None:
    """Set soft and hard limits, never above the hard limit already in force."""
    for name, wanted in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is None:
            continue
        hard = resource.getrlimit(kind)[1]
        value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        try:
            resource.setrlimit(kind, (value, value))
        except (ValueError, OSError):
            # macOS refuses some limits; only the tier "none" runs there.
            if not CONFIG["lenient"]:
                raise


def drop_to(uid: int) -> None:
    """Become an ordinary user for good; only meaningful when started as real root."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    if os.getresuid() != (uid,) * 3 or os.getresgid() != (uid,) * 3 or os.getgroups():
        raise PermissionError("the worker could not become an unprivileged user")


limit_resources(CONFIG["rlimits"])
if CONFIG["uid"] is not None:
    drop_to(CONFIG["uid"])
if CONFIG["probe"]:
    os.write(CONFIG["reply_fd"], b"ok %d" % os.getuid())
    os.read(CONFIG["request_fd"], 1)
    os._exit(0)

import importlib  # noqa: E402
import types  # noqa: E402
from pathlib import Path  # noqa: E402

# A name that no submission has a module of, for the folder that holds the wire and the worker.
LOADED_AS = "_grader_sandbox"


def load_worker():
    """The module that answers requests, with numpy behind it."""
    folder = types.ModuleType(LOADED_AS)
    folder.__path__ = [str(Path(__file__).parent.parent)]
    sys.modules[LOADED_AS] = folder
    sys.path.append(CONFIG["packages"])
    serving = importlib.import_module(f"{LOADED_AS}.worker.serving")
    # numpy finds its own parts through its own path: nothing else of those folders is importable.
    sys.path.remove(CONFIG["packages"])
    for name in [name for name in sys.modules if name.partition(".")[0] == LOADED_AS]:
        del sys.modules[name]
    return serving


load_worker().main(CONFIG)
