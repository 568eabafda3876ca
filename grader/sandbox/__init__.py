"""Where submissions run: choose a sandbox, start workers in it."""

from grader.sandbox.base import Sandbox, SandboxUnavailable
from grader.sandbox.bubblewrap import Bubblewrap
from grader.sandbox.container import Docker, Podman
from grader.sandbox.limits import Limits
from grader.sandbox.plain import NoSandbox
from grader.sandbox.portable import Portable
from grader.sandbox.process import WorkerProcess

__all__ = [
    "TIERS",
    "Limits",
    "Sandbox",
    "SandboxUnavailable",
    "WorkerProcess",
    "choose_sandbox",
]

# In the order in which "auto" tries them, the one with the most between a submission and the
# machine first. A tier is tried out only when those before it do not work.
TIERS: dict[str, type[Sandbox]] = {
    "bubblewrap": Bubblewrap,
    "podman": Podman,
    "docker": Docker,
    "portable": Portable,
}


def choose_sandbox(name: str = "auto") -> Sandbox:
    """The sandbox of a tier by name, or the first that works; SandboxUnavailable when none does.

    "auto" never gives "none": running submissions without a sandbox must be asked for by name.
    """
    if name == "none":
        return NoSandbox.working()
    if name in TIERS:
        return TIERS[name].working()
    if name != "auto":
        names = ", ".join(f'"{known}"' for known in ("auto", *TIERS))
        raise SandboxUnavailable(
            f'there is no sandbox called "{name}"; choose one of {names} or "none"'
        )
    refusals = []
    for tier, kind in TIERS.items():
        try:
            return kind.working()
        except SandboxUnavailable as refusal:
            refusals.append(f"{tier}: {refusal}")
    raise SandboxUnavailable(
        f"No sandbox works here. {'. '.join(refusals)}. To grade without a sandbox, ask for it by "
        "name: none"
    )
