"""Named complete configurations: those of the package, and files of the user's."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from streamgauge.errors import UsageError, unknown_name
from streamgauge.planning.settings import read_form

_SURVEY_SIZES = "survey_sizes"
"""What a preset sets when a survey is asked for."""


def preset_names() -> list[str]:
    """Return the names of the presets that come with the package."""
    folder = resources.files("streamgauge").joinpath("presets")
    return sorted(Path(entry.name).stem for entry in folder.iterdir() if "." in entry.name)


def read_preset(name: str, *, survey: bool = False) -> dict[str, Any]:
    """Return what a preset sets, from the package or from a YAML file of the user's.

    Args:
        name: Of the preset, or its file.
        survey: Whether the sizes of a survey are wanted, its `survey_sizes`.

    Raises:
        UsageError: There is no such preset, or a value in it is malformed.
    """
    fields = _parse(name, _content(name))
    if not isinstance(fields, dict):
        raise UsageError(f"preset {name} sets nothing", "Write it like workload: espbench.")
    sizes = fields.pop(_SURVEY_SIZES, {})
    if not isinstance(sizes, dict):
        raise UsageError(f"preset {name}: {_SURVEY_SIZES} must be SETTING: VALUE pairs")
    found = read_form(fields, f"preset {name}: ")
    surveyed = read_form(sizes, f"preset {name}: {_SURVEY_SIZES}: ")
    return {**found, **_over(found, surveyed)} if survey else found


def _over(found: dict[str, Any], sizes: dict[str, Any]) -> dict[str, Any]:
    """Return the sizes; KEY: VALUE pairs keep those that are not replaced."""
    return {
        name: {**found[name], **value} if isinstance(value, dict) and name in found else value
        for name, value in sizes.items()
    }


def _content(name: str) -> bytes:
    path = Path(name)
    if path.suffix in {".yaml", ".yml"}:
        try:
            return path.read_bytes()
        except OSError as error:
            reason = error.strerror or str(error)
            raise UsageError(f"preset {path} cannot be read: {reason}") from None
    if name not in preset_names():
        raise unknown_name("preset", name, preset_names())
    return resources.files("streamgauge").joinpath(f"presets/{name}.yaml").read_bytes()


def _parse(name: str, content: bytes) -> Any:
    try:
        return yaml.safe_load(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise UsageError(f"preset {name} is not text in UTF-8", "Save it as UTF-8.") from None
    except yaml.MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UsageError(f"preset {name} is not YAML: {error.problem}{line}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise UsageError(f"preset {name} is not YAML: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise UsageError(f"preset {name} is nested too deeply", "Write it flat.") from None
