"""What a worker is told when it starts."""

import json

from grader.sandbox.limits import Limits

# The user of slot 0, where each slot has its own. Above the users of persons and services.
FIRST_UID = 64100
# numpy's BLAS would otherwise start a thread for each core.
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "LANG": "C.UTF-8"}


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
