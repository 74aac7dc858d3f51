"""Configuration folders of Spark programs: where secrets are, since command lines are public."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from streamgauge.files import write_atomically
from streamgauge.services import runtime
from streamgauge.services.java import property_value

CONF_DIR = Path(__file__).parent / "conf"
"""What everybody may read."""
DEFAULTS = "spark-defaults.conf"
LOCAL_CONF: Mapping[str, str] = {
    "SPARK_CONF_DIR": str(CONF_DIR / "none"),
    "LOG4J_CONFIGURATION_FILE": (CONF_DIR / "log4j2.properties").as_uri(),
}
"""For a Spark in one process: a folder with files in the class path would keep Java from using an
archive of classes."""


def spark_home() -> Path:
    """Return the folder of the Spark that PySpark brings."""
    spec = find_spec("pyspark")
    assert spec is not None, "PySpark is a dependency of this package"
    assert spec.origin is not None
    return Path(spec.origin).parent


def write_private(file: Path, settings: Mapping[str, str]) -> None:
    """Write settings that only this user may read."""
    lines = (f"{key}={property_value(value)}\n" for key, value in settings.items())
    write_atomically(file, "".join(lines), 0o600)


def private_folder(settings: Mapping[str, str]) -> Path:
    """Create a private configuration folder that gives these settings to Spark."""
    folder = runtime.owned_folder("spark-conf")
    for file in CONF_DIR.iterdir():
        shutil.copy(file, folder)
    write_private(folder / DEFAULTS, settings)
    return folder
