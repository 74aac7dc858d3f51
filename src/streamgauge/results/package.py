"""A replication package: what another machine needs to repeat a run, and its results."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from streamgauge import registry
from streamgauge.results.csv import tables
from streamgauge.results.folder import RunFolder, RunRecord
from streamgauge.spec.experiment import SearchesGrid
from streamgauge.spec.run import FACTORS, LOADS, OPTION_FACTORS, RunSpec
from streamgauge.spec.trial import LoadSpec
from streamgauge.spec.values import Json
from streamgauge.units import format_rate, parse_rate

_NOT_ASKED = {"preset", "services", "origins", "variants", "resources"}
_FILE_TIME = (1980, 1, 1, 0, 0, 0)
"""The same content makes the same package."""

_README = """# Repeat {id}

    streamgauge run --preset preset.yaml

repeats the run on another machine, with Streamgauge {version}. The original command:

    {command}

| file | what |
|---|---|
| `preset.yaml` | everything that was asked for |
| `results.csv` | a line per trial: verdicts, counts, metrics in SI units |
| `repeats.csv` | if trials were repeated: mean, median, smallest and largest over the repeats |
| `run.json` | the machine, the versions at that time, status and answer |
| `packages.txt` | the Python packages on the machine that made this package |
{notes}
"""


def package(folder: RunFolder) -> bytes:
    """Return the replication package of a run as a zip file."""
    record, results = folder.record(), folder.trials()
    files = {
        "README.md": _readme(record),
        "preset.yaml": yaml.safe_dump(preset(record), sort_keys=False, allow_unicode=True),
        **tables(results),
        "run.json": json.dumps(_facts(record), indent=2, ensure_ascii=False) + "\n",
        "packages.txt": "".join(f"{line}\n" for line in packages()),
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            entry = zipfile.ZipInfo(f"{record.id}/{name}", _FILE_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, text)
    return content.getvalue()


def preset(record: RunRecord) -> dict[str, Json]:
    """Return what was asked for as the fields of a preset; addresses are left out.

    Rates and times that were not given are left out: an experiment may choose its own.
    """
    spec = record.spec
    fields: dict[str, Json] = {"title": f"{record.id} again"}
    fields |= spec.model_dump(
        mode="json", exclude=_NOT_ASKED | {"rates", "duration_s", "warmup_s", "load"}
    )
    fields |= {name: value for name, value in _load_and_times(spec).items() if name in spec.origins}
    fields |= spec.resources.model_dump(mode="json", exclude_defaults=True)
    fields |= {"load": _load(spec.load)}
    fields = _varied(spec.model_dump(mode="json")["vary"], fields)
    if isinstance(registry.load("experiments", spec.experiment), SearchesGrid):
        del fields["vary"]  # its options say what is varied
    return {name: value for name, value in fields.items() if value not in (None, [], {})}


def _varied(vary: Mapping[str, Sequence[Json]], fields: Mapping[str, Json]) -> dict[str, Json]:
    """Return the fields that factors change: whatever is varied has no other value."""
    left = dict(fields)
    for name in vary:
        letter, dot, option = name.partition(".")
        if dot:
            field = OPTION_FACTORS[letter]
            left[field] = _without(left[field], [option])
        elif name != LOADS:
            left[FACTORS[name]] = None
    points = [point for point in vary.get(LOADS, ()) if isinstance(point, dict)]
    if points:
        base = _without(left["load"], [option for point in points for option in point])
        left["load"] = [{**base, **point} for point in points]
    factors: Json = {name: [*values] for name, values in vary.items() if name != LOADS}
    return {**left, "vary": factors}


def _without(options: Json, names: Sequence[str]) -> dict[str, Json]:
    assert isinstance(options, dict)
    return {name: value for name, value in options.items() if name not in names}


def packages() -> list[str]:
    """Return names and versions of the packages that Streamgauge depends on here."""
    found: dict[str, str] = {}
    wanted = ["streamgauge"]
    while wanted:
        name = wanted.pop()
        if name in found:
            continue
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue  # of another platform
        wanted += _needed(name)
    return [f"{name}=={found[name]}" for name in sorted(found)]


def _load_and_times(spec: RunSpec) -> dict[str, Json]:
    times: dict[str, Json] = {
        "duration": _seconds(spec.duration_s),
        "warmup": _seconds(spec.warmup_s),
    }
    return times if spec.shape else {"rates": [_rate(rate) for rate in spec.rates], **times}


def _needed(package: str) -> Iterator[str]:
    """Yield the names of the packages that a package needs on this platform, without extras."""
    for text in metadata.requires(package) or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield canonicalize_name(requirement.name)


def _load(load: LoadSpec) -> dict[str, Json]:
    own: dict[str, Json] = load.model_dump(
        mode="json", exclude={"linger_s", "max_lateness_s", "spark"}, exclude_none=True
    )
    times = {"linger": _seconds(load.linger_s), "max_lateness": _seconds(load.max_lateness_s)}
    return {**own, **times}


def _rate(rate: float) -> str:
    """Write a rate for people if that loses nothing."""
    short = format_rate(rate)
    return short if parse_rate(short) == rate else f"{rate!r}/s"


def _seconds(duration_s: float) -> str:
    return f"{int(duration_s) if duration_s == int(duration_s) else repr(duration_s)}s"


def _facts(record: RunRecord) -> dict[str, object]:
    return record.model_dump(mode="json", exclude={"owner"})


def _readme(record: RunRecord) -> str:
    return _README.format(
        id=record.id,
        version=record.machine.get("streamgauge", ""),
        command=" ".join(" ".join(record.command).split()),
        notes="".join(f"\n{note}\n" for note in _notes(record)),
    )


def _notes(record: RunRecord) -> list[str]:
    spec = record.spec
    notes = []
    if given := list(spec.services):
        notes.append(
            f"The run used external servers for {' and '.join(given)}; without"
            f" {' and '.join(f'--service {name}=ADDRESS' for name in given)} they are embedded."
        )
    if spec.load.spark:
        notes.append("The tasks of a Spark cluster sent the load: --senders spark=URL.")
    named = [*spec.parameters.values(), (spec.shape or "").partition(":")[2]]
    for value in named:
        if isinstance(value, str) and value and Path(value).is_file():
            notes.append(f"It needs a file that is not included: {value}")
    return notes
