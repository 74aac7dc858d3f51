"""Write files completely or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from streamgauge.errors import NotReady


def write_atomically(path: Path, content: str | bytes, mode: int = 0o644) -> None:
    """Write a file so that readers see all of it or nothing, whatever happens meanwhile."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def write_for_user(
    path: Path, content: str | bytes, remedy: str = "choose another place or make room"
) -> None:
    """Write a file where the user wants it; an error names a place that cannot be written."""
    try:
        write_atomically(path, content)
    except OSError as error:
        raise NotReady(f"cannot write {path}: {error.strerror}", remedy) from None
