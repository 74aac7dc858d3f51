"""Services that stay up, for development: `streamgauge services up|down|status`."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path

from streamgauge import process
from streamgauge.process import Seen
from streamgauge.services import check_names, embedded, runtime
from streamgauge.services.runtime import Instance, Record
from streamgauge.services.service import Options, Progress, silent
from streamgauge.spec import addresses


@dataclass(frozen=True)
class Status:
    """What is known of one service."""

    name: str
    up: bool
    address: str | None = None
    """Without secrets."""
    pid: int | None = None
    log: Path | None = None
    variables: tuple[tuple[str, str], ...] = ()
    """Environment variables that make other commands use it."""


def up(names: Iterable[str] = (), progress: Progress = silent) -> list[Status]:
    """Start the services that are not up yet, and leave them running."""
    wanted = check_names(names)
    with _turn(), ExitStack() as stack:
        running = {instance.service for instance, _ in _ours()}
        _remove_leftovers()
        options = Options(detached=True, progress=progress)
        begun = [embedded(name, options).begin(stack) for name in wanted if name not in running]
        for service in [wait() for wait in begun]:  # all are ready: let them go
            assert service.process is not None
            service.process.release()
        stack.pop_all()
    return status(wanted)


def down(names: Iterable[str] = (), progress: Progress = silent) -> list[str]:
    """Stop detached services, and remove what killed owners left; return what was stopped."""
    wanted = check_names(names)
    stopped = []
    with _turn():
        for instance, record in _ours():
            if instance.service in wanted:
                progress(f"stopping {instance.service}")
                _stop(instance, record)
                stopped.append(instance.service)
        removed = _remove_leftovers()
    return stopped + [f"leftover process {seen.pid}" for seen in removed]


def status(names: Iterable[str] = ()) -> list[Status]:
    """Tell which services are up."""
    found = {instance.service: (instance, record) for instance, record in _ours()}
    return [
        _status(*found[name]) if name in found else Status(name, up=False)
        for name in check_names(names)
    ]


def leftovers() -> list[str]:
    """Describe what killed owners left: processes and folders, for `services down` to remove."""
    processes = [f"process {seen.pid}" for seen in process.leftovers()]
    folders = [instance.folder for instance, _ in _abandoned()] + Instance.orphans()
    return processes + [f"folder {folder}" for folder in folders]


def remove_leftovers() -> list[str]:
    """Remove what killed owners left, and return what it was."""
    with _turn():
        found = leftovers()
        _remove_leftovers()
    return found


def _turn() -> AbstractContextManager[None]:
    """Wait until no other `services` command changes anything."""
    return runtime.locked(runtime.runtime_dir() / "services.lock")


def _ours() -> list[tuple[Instance, Record]]:
    """Return the detached services that run: number, start and marker must agree."""
    return [
        (instance, record)
        for instance, record in Instance.found()
        if record.owner is None and _serves(instance, record)
    ]


def _abandoned() -> list[tuple[Instance, Record]]:
    """Return the instances whose owner is gone, and the detached ones whose process is gone."""
    return [
        (instance, record)
        for instance, record in Instance.found()
        if not (_serves(instance, record) if record.owner is None else record.owner.alive)
    ]


def _serves(instance: Instance, record: Record) -> bool:
    """Tell whether the recorded process still runs and is the one that we started."""
    seen = record.process
    return seen is not None and seen.alive and process.belongs(seen, instance.folder)


def _stop(instance: Instance, record: Record) -> None:
    if record.process is not None:
        record.process.end(signal.Signals(record.stop_signal))
    instance.remove()


def _remove_leftovers() -> Sequence[Seen]:
    for instance, _ in _abandoned():
        instance.remove()
    found = process.leftovers()
    for seen in found:
        seen.end()
    for orphan in Instance.orphans():
        shutil.rmtree(orphan, ignore_errors=True)
    return found


def _status(instance: Instance, record: Record) -> Status:
    variables = {"kafka": addresses.KAFKA, "postgres": addresses.POSTGRES}
    lines = [(variables[instance.service], record.address)]
    if instance.secret_file.exists():
        lines.append((addresses.POSTGRES_PASSWORD_FILE, str(instance.secret_file)))
    assert record.process is not None
    return Status(
        instance.service, True, record.address, record.process.pid, instance.log, tuple(lines)
    )
