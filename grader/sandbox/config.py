"""What a worker is told when it starts."""

import json

from grader.sandbox.limits import Limits


def worker_config(limits: Limits, **different) -> str:
    """The worker's only argument, as JSON. Nothing in it is secret: a submission can read it."""
    config = {
        "uid": None,
        "probe": False,
        "lenient": False,
        "packages": "",
        "submission": "/submission",
        "mapped": {},
        "modules": {},
        "rlimits": limits.rlimits(),
        "frame_bytes": limits.frame_bytes,
    }
    return json.dumps({**config, **different})
