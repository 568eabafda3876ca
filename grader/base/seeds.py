"""The secret behind the hidden cases, and the seeds derived from it.

Hidden cases must be the same for every student of a run, the same again in a regrade, and unknown
to students: each seed is an HMAC of the suite's version and the test's name under one secret file.
"""

import hashlib
import hmac
import os
import re
import secrets
import stat
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs

from grader.base.errors import GraderError

APP_NAME = "kv-cache-homework"
ENV_SECRET_FILE = "GRADER_SECRET_FILE"
SECRET_BYTES = 32
_HEX_SECRET = re.compile(rb"[0-9a-fA-F]{%d}" % (2 * SECRET_BYTES))


@dataclass(frozen=True)
class Secret:
    """The secret's bytes, the file they came from, and what a person should hear about it."""

    key: bytes = field(repr=False)
    path: Path
    created: bool = False
    warnings: tuple[str, ...] = ()


def secret_path(given: Path | None = None) -> Path:
    """Where the secret lives: `given`, else $GRADER_SECRET_FILE, else the user's config folder."""
    if given is not None:
        return given
    if from_env := os.environ.get(ENV_SECRET_FILE):
        return Path(from_env)
    return platformdirs.user_config_path(APP_NAME) / "secret.hex"


def load_secret(given: Path | None = None) -> Secret:
    """Read the secret file, making it on first use.

    Raises GraderError when the file cannot be read, cannot be made, or is not 64 hex digits.
    """
    path = secret_path(given)
    created = _create(path) if not path.exists() else False
    return _read(path, created)


def require_secret(given: Path | None = None) -> Secret:
    """As load_secret, for runs on several machines: a secret that is not there is not made."""
    path = secret_path(given)
    if not path.exists():
        raise GraderError(
            f"The secret seed file {path} does not exist, and all shards of a class need the same. "
            f"Make it once with `grader secret --secret-file {path}`, and give every shard this "
            "file or a copy."
        )
    return _read(path, created=False)


def derive_seed(secret: bytes, suite_version: str, test_name: str) -> int:
    """HMAC-SHA256 of (suite version, test name) under the secret, as an int in [0, 2**64).

    Each field is preceded by its length, so no two pairs give the same message.
    """
    fields = (suite_version.encode(), test_name.encode())
    message = b"".join(len(part).to_bytes(8, "big") + part for part in fields)
    return int.from_bytes(hmac.digest(secret, message, hashlib.sha256)[:8], "big")


def _create(path: Path) -> bool:
    """Make the file whole or not at all; True when it was this process that made it."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_hex(SECRET_BYTES).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
            # A link, unlike a rename, never replaces a secret that another process just made.
            os.link(draft, path)
        except FileExistsError:
            return False
        finally:
            draft.unlink()
    except OSError as problem:
        raise GraderError(
            f"The secret seed file {path} does not exist and could not be made "
            f"({problem.strerror}). Choose a writable place with --secret-file or "
            f"${ENV_SECRET_FILE}."
        ) from None
    return True


def _read(path: Path, created: bool) -> Secret:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(4096).strip() if stat.S_ISREG(mode) else b""
    except OSError as problem:
        raise GraderError(
            f"The secret seed file {path} could not be read ({problem.strerror}). "
            f"Name another with --secret-file or ${ENV_SECRET_FILE}."
        ) from None
    if not _HEX_SECRET.fullmatch(content):
        raise GraderError(
            f"The secret seed file {path} is malformed: expected {2 * SECRET_BYTES} hexadecimal "
            f"digits, found {len(content)} bytes that are not. Restore it from a copy, or delete "
            "it to get a new one (hidden cases change, so everything is then graded anew)."
        )
    warnings: tuple[str, ...] = ()
    if mode & 0o077:
        warnings = (
            f"The secret seed file {path} can be read by other users (mode "
            f"{stat.S_IMODE(mode):04o}), who could work out the hidden cases; run: chmod 600 "
            f"{path}",
        )
    return Secret(bytes.fromhex(content.decode()), path, created, warnings)
