"""Packages of somebody else, as they would be installed: code, and what they register."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from streamgauge import registry

Registered = Mapping[str, Mapping[str, str]]
"""Group → name → `package.module:Thing`."""


class Plugins:
    """Installs packages into a folder of the test, for this process and those that it starts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        registry._entries.cache_clear()
        self._installed: list[str] = []

    def install(self, package: str, code: str, registered: Registered) -> None:
        """Write a package of one module, and its metadata as an installer does."""
        self._installed.append(package)
        (self.folder / package).mkdir()
        (self.folder / package / "__init__.py").write_text(code)
        metadata = self.folder / f"{package}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
        )
        lines = []
        for group, things in registered.items():
            lines.append(f"[streamgauge.{group}]")
            lines += [f"{name} = {value}" for name, value in things.items()]
        (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
        registry._entries.cache_clear()

    def forget(self) -> None:
        """Leave nothing of them in this process."""
        for name in [each for each in sys.modules if each.partition(".")[0] in self._installed]:
            del sys.modules[name]
        registry._entries.cache_clear()
