"""Where submissions run: choose a sandbox, start workers in it."""

from grader.sandbox.bubblewrap import Bubblewrap, SandboxUnavailable
from grader.sandbox.limits import Limits
from grader.sandbox.plain import NoSandbox
from grader.sandbox.process import WorkerProcess

__all__ = ["Limits", "SandboxUnavailable", "WorkerProcess", "choose_sandbox"]

Sandbox = Bubblewrap | NoSandbox


def choose_sandbox(name: str = "auto") -> Sandbox:
    """The sandbox called "auto", "bubblewrap" or "none"; SandboxUnavailable when it cannot work.

    "auto" never gives "none": running submissions without a sandbox must be asked for by name.
    """
    if name == "none":
        return NoSandbox()
    if name in ("auto", "bubblewrap"):
        return Bubblewrap.working()
    raise SandboxUnavailable(
        f'there is no sandbox called "{name}"; choose "auto", "bubblewrap" or "none"'
    )
