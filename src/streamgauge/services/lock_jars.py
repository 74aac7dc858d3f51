"""Rewrite jars.lock from the coordinates below: `make lock-jars`, for maintainers.

Needs Maven, which resolves a component's whole list; users need neither Maven nor this module.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from streamgauge.services.jars import LOCK, sha256

_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.9.0"


@dataclass(frozen=True)
class Wanted:
    """What a component is made of."""

    coordinates: Sequence[str]
    transitive: bool = True
    without: Sequence[str] = ()


COMPONENTS: Mapping[str, Wanted] = {
    "kafka": Wanted(
        [
            "org.apache.kafka:kafka_2.13:4.3.1",
            "org.apache.kafka:kafka-tools:4.3.1",
            "org.slf4j:slf4j-simple:1.7.36",
        ],
        without=["org.apache.kafka:connect-runtime"],
    ),
    # Without dependencies: Spark brings the others they need, and the newer connectors' own are
    # not available everywhere.
    "spark-kafka": Wanted(
        [
            "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
            "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
            "org.apache.kafka:kafka-clients:3.9.2",
            "org.apache.commons:commons-pool2:2.13.1",
        ],
        transitive=False,
    ),
    "postgres-jdbc": Wanted(["org.postgresql:postgresql:42.7.7"], transitive=False),
    "async-profiler": Wanted(["tools.profiler:async-profiler:4.3"], transitive=False),
}


def main() -> None:
    """Resolve every component and write the lock."""
    lock = {name: _lock(wanted) for name, wanted in COMPONENTS.items()}
    LOCK.write_text(json.dumps(lock, indent=1) + "\n", encoding="utf-8")
    print(*(f"{name}: {len(jars)} jars" for name, jars in lock.items()), sep="\n")  # noqa: T201


def _lock(wanted: Wanted) -> list[dict[str, str | int]]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "pom.xml").write_text(_pom(wanted), encoding="utf-8")
        _maven(folder, "copy-dependencies", "-DoutputDirectory=lib")
        _maven(folder, "list", "-DoutputFile=list.txt")
        text = (Path(folder) / "list.txt").read_text(encoding="utf-8")
        jars = sorted(re.findall(r"^\s+(\S+):(\S+):jar:(\S+):\w+", text, re.MULTILINE))
        return [_entry(":".join(jar), Path(folder) / "lib") for jar in jars]


def _entry(coordinate: str, folder: Path) -> dict[str, str | int]:
    _, artifact, version = coordinate.split(":")
    path = folder / f"{artifact}-{version}.jar"
    return {"jar": coordinate, "sha256": sha256(path), "size": path.stat().st_size}


def _maven(folder: str, goal: str, option: str) -> None:
    command = ["mvn", "-B", "-q", f"{_PLUGIN}:{goal}", "-DincludeScope=runtime", option]
    subprocess.run(command, cwd=folder, check=True)


def _pom(wanted: Wanted) -> str:
    without = [*wanted.without] if wanted.transitive else ["*:*"]
    exclusions = "".join(f"<exclusion>{_names(name)}</exclusion>" for name in without)
    dependencies = "".join(
        f"<dependency>{_names(name)}<exclusions>{exclusions}</exclusions></dependency>"
        for name in wanted.coordinates
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>lock</groupId><artifactId>lock</artifactId><version>1</version>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )


def _names(coordinate: str) -> str:
    tags = ("groupId", "artifactId", "version")
    parts = zip(tags, coordinate.split(":"), strict=False)
    return "".join(f"<{tag}>{part}</{tag}>" for tag, part in parts)


if __name__ == "__main__":
    main()
