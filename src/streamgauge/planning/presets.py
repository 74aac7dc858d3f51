"""Named complete configurations: those of the package, and files of the user's."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from streamgauge.errors import UsageError, unknown_name


def preset_names() -> list[str]:
    """Return the names of the presets that come with the package."""
    folder = resources.files("streamgauge").joinpath("presets")
    return sorted(Path(entry.name).stem for entry in folder.iterdir() if "." in entry.name)


def read_preset(name: str) -> dict[str, Any]:
    """Return a preset's fields, from the package or from a YAML file of the user's."""
    path = Path(name)
    if path.suffix in {".yaml", ".yml"}:
        if not path.is_file():
            raise UsageError(f"there is no preset file {path}")
        text = path.read_text("utf-8")
    elif name in preset_names():
        text = resources.files("streamgauge").joinpath(f"presets/{name}.yaml").read_text("utf-8")
    else:
        raise unknown_name("preset", name, preset_names())
    try:
        fields = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UsageError(f"preset {name} is no YAML: {error}") from None
    if not isinstance(fields, dict):
        raise UsageError(f"preset {name} has no fields")
    return fields
