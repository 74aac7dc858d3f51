"""The run folder: written during a run, readable at any moment, by anyone.

run.json                 the spec, the machine, the process that runs it; status and answer
logs/                    of the services that the run started
trials/001/trial.json    the truth about a trial; written last, atomically
live.jsonl               what happens, once a second
results.csv              a line per trial
repeats.csv              the same over the repeats of each trial, if trials were repeated
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import psutil
from pydantic import JsonValue, ValidationError
from pydantic_core import from_json

from streamgauge.errors import NotReady, UsageError
from streamgauge.files import write_atomically
from streamgauge.spec.reading import first_fault
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import Model, TrialResult

SCHEMA = 3
_MAY_CONTROL = re.compile(rb"\\u00|\\[bfr]|\x7f|\xc2[\x80-\x9f]")
"""How a control character is written in JSON; a file without any needs no second look."""
RunStatus = Literal["running", "done", "failed", "invalid", "interrupted"]


class Owner(Model):
    """The process that writes a run; a later one with the same pid has another start time."""

    pid: int
    started: float


class RunRecord(Model):
    """The content of run.json."""

    schema_version: int = SCHEMA
    id: str
    started: str
    spec: RunSpec
    command: list[str]
    """The command that repeats the run: the words of a shell line, quoted."""
    workload_version: str | None = None
    machine: dict[str, JsonValue]
    owner: Owner
    status: RunStatus = "running"
    answer: dict[str, JsonValue] = {}
    """What the experiment concluded, in its own model; empty until it has."""
    warnings: list[str] = []

    def ceiling(self, query: str) -> float | None:
        """Return the rate per stream that `noop` kept up with here; None if it was not measured."""
        known = self.machine.get("ceiling")
        rate = known.get(query) if isinstance(known, dict) else None
        return float(rate) if isinstance(rate, int | float) else None


class RunFolder:
    """One run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(
        cls,
        runs: Path,
        spec: RunSpec,
        command: list[str],
        machine: Mapping[str, Any],
        workload_version: str | None = None,
    ) -> RunFolder:
        """Make the folder of a new run and write its run.json."""
        now = datetime.now(UTC)
        suffix = secrets.token_hex(2)
        name = "-".join(filter(None, (f"{now:%Y%m%d-%H%M}", spec.workload, spec.engine, suffix)))
        folder = cls(runs / name)
        try:
            (folder.path / "trials").mkdir(parents=True)
        except OSError as error:
            raise NotReady(
                f"cannot write to {runs}: {error.strerror}", "choose another with --runs-dir"
            ) from None
        folder.write(
            RunRecord(
                id=name,
                started=now.isoformat(timespec="seconds"),
                spec=spec,
                command=command,
                workload_version=workload_version,
                machine=dict(machine),
                owner=_this_process(),
            )
        )
        return folder

    @property
    def name(self) -> str:
        """The run's id."""
        return self.path.name

    @property
    def live(self) -> Path:
        """Where the events of a running run go."""
        return self.path / "live.jsonl"

    def record(self) -> RunRecord:
        """Read run.json; a run whose process is gone reads as interrupted."""
        file = self.path / "run.json"
        try:
            content = _content(file)
            _check_schema(file, content)
            record = RunRecord.model_validate(content)
        except (OSError, ValueError, ValidationError, AttributeError) as error:
            raise UsageError(
                f"{self.path} is not a readable run: {_reason(error)}",
                "Remove it, or restore run.json.",
            ) from None
        if record.status == "running" and not _runs(record.owner):
            return record.model_copy(update={"status": "interrupted"})
        return record

    def write(self, record: RunRecord) -> None:
        """Write run.json atomically."""
        write_atomically(self.path / "run.json", record.model_dump_json(indent=2) + "\n")

    def adopt(self) -> RunRecord:
        """Make this process the owner of the run, to continue it."""
        record = self.record()
        if record.status == "running":
            raise NotReady(f"{self.name} is still running (pid {record.owner.pid})")
        for folder in self.trial_folders():
            if not (folder / "trial.json").exists():
                shutil.rmtree(folder)
        record = record.model_copy(update={"status": "running", "owner": _this_process()})
        self.write(record)
        return record

    def trial_folder(self, number: int) -> Path:
        """Return the folder of a trial."""
        return self.path / "trials" / f"{number:03}"

    def trial_folders(self) -> list[Path]:
        """Return the folders of all trials, finished or not, in the order of their numbers."""
        found = (self.path / "trials").glob("[0-9]*")
        return sorted((each for each in found if each.name.isdecimal()), key=_number)

    def write_trial(self, result: TrialResult) -> None:
        """Write trial.json, the last file of a trial."""
        file = self.trial_folder(result.spec.number) / "trial.json"
        write_atomically(file, result.model_dump_json(indent=2) + "\n")

    def trials(self) -> list[TrialResult]:
        """Read all finished trials."""
        return list(self._finished())

    def _finished(self) -> Iterator[TrialResult]:
        for folder in self.trial_folders():
            file = folder / "trial.json"
            if file.exists():
                try:
                    yield TrialResult.model_validate(_content(file))
                except (OSError, ValueError) as error:
                    raise UsageError(
                        f"{file} is not a readable trial: {_reason(error)}",
                        "Remove the trial's folder, or restore the file.",
                    ) from None

    def count_finished(self) -> int:
        """Count the finished trials without reading them."""
        return sum(1 for _ in (self.path / "trials").glob("*/trial.json"))


def find(runs: Path, name: str) -> RunFolder:
    """Find a run by path, id prefix, tag (`key=value` or value) or age (`@0` is the latest)."""
    path = Path(name)
    if (path / "run.json").exists():
        return RunFolder(path)
    folders = all_runs(runs)
    if name.startswith("@") and name[1:].isdigit():
        latest = [folder for folder, _ in latest_first(read_all(folders)[0])]
        if int(name[1:]) < len(latest):
            return latest[int(name[1:])]
        raise UsageError(f"there is no run {name}: {runs} holds {len(latest)}")
    matches = [folder for folder in folders if folder.name.startswith(name)]
    matches = matches or [f for f, record in read_all(folders)[0] if tagged(record, name)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise UsageError(f"{name!r} matches {len(matches)} runs", "give more of the id")
    raise UsageError(f"there is no run {name!r} in {runs}", "`streamgauge runs` lists them")


def all_runs(runs: Path) -> list[RunFolder]:
    """Return all runs in a folder."""
    return [RunFolder(file.parent) for file in sorted(runs.glob("*/run.json"))]


_Read = tuple[RunFolder, RunRecord]


def read_all(folders: Iterable[RunFolder]) -> tuple[list[_Read], list[str]]:
    """Read the records of runs; one that cannot be read must not hide the others."""
    found, unreadable = [], []
    for folder in folders:
        try:
            found.append((folder, folder.record()))
        except UsageError as error:
            unreadable.append(error.message)
    return found, unreadable


def latest_first(runs: Iterable[_Read]) -> list[_Read]:
    """Sort runs by their start."""
    return sorted(runs, key=lambda each: (each[1].started, each[0].name), reverse=True)


def tagged(record: RunRecord, name: str) -> bool:
    """Return whether a run has a tag, given as `key=value` or as only the value."""
    tags = record.spec.tags
    key, equals, value = name.partition("=")
    return tags.get(key) == value if equals else name in tags.values()


def printable(text: str) -> str:
    """Return a text that moves no cursor and sets no colour; lines stay lines."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in "\n\t" else "�" for each in text)


def _content(file: Path) -> Any:
    """Read a JSON file whose texts may go to a terminal, so nothing in them may control it."""
    written = file.read_bytes()
    content = from_json(written)
    return _all_printable(content) if _MAY_CONTROL.search(written) else content


def _all_printable(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list):
        return [_all_printable(each) for each in value]
    if isinstance(value, dict):
        return {printable(key): _all_printable(each) for key, each in value.items()}
    return value


def _check_schema(file: Path, content: Mapping[str, Any]) -> None:
    """Refuse files of another version: their fields may have another meaning."""
    version = content.get("schema_version", SCHEMA)
    if version == SCHEMA:
        return
    if not isinstance(version, int):
        raise ValueError(f"schema_version is {version!r}")  # noqa: TRY004  # of a file, no argument
    if version > SCHEMA:
        raise UsageError(
            f"{file} was written by a newer version of streamgauge", "upgrade streamgauge"
        )
    raise UsageError(
        f"{file} was written by an older version of streamgauge",
        "look at it with that version, or run it again: its `command` is in the file",
    )


def _reason(error: Exception) -> str:
    return first_fault(error) if isinstance(error, ValidationError) else str(error)


def _number(trial: Path) -> int:
    return int(trial.name)


def _this_process() -> Owner:
    return Owner(pid=os.getpid(), started=psutil.Process().create_time())


def _runs(owner: Owner) -> bool:
    try:
        return abs(psutil.Process(owner.pid).create_time() - owner.started) < 1
    except psutil.Error:
        return False
