"""Services that stay up, for development: `streamgauge services up|down|status`."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamgauge import process
from streamgauge.errors import StreamgaugeError
from streamgauge.jobfile import variable
from streamgauge.services import runtime
from streamgauge.services.addresses import Given
from streamgauge.services.choice import check_names, embedded, in_order, loadable, service
from streamgauge.services.running import Options, RunningService
from streamgauge.services.runtime import Instance, InstanceRecord, Note, silent
from streamgauge.services.starting import start_all
from streamgauge.spec.endpoints import Endpoint


@dataclass(frozen=True)
class Status:
    """What is known of one service."""

    name: str
    up: bool
    address: str | None = None
    """Without secrets."""
    pids: tuple[int, ...] = ()
    log: Path | None = None
    variables: tuple[tuple[str, str], ...] = ()
    """Environment variables that make other commands use it."""


def up(
    names: Iterable[str] = (),
    progress: Note = silent,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Status]:
    """Start the services that are not up yet, and leave them running."""
    settings = settings or {}
    wanted = in_order(_startable(names, progress))
    with _turn(), ExitStack() as stack:
        running = {each.service: _running(each, record) for each, record in _ours()}
        _remove_leftovers()
        options = Options(detached=True, progress=progress)
        for name in settings.keys() & running.keys():
            progress(f"{name} is already up, and keeps the settings that it was started with")
        absent = [name for name in wanted if name not in running]
        missing = [embedded(name, options, settings.get(name)) for name in absent]
        start_all(missing, running, lambda _: stack)
        for started in running.values():  # all are ready: let them go
            for member in started.members:
                member.release()
        stack.pop_all()
    return status(wanted)


def down(names: Iterable[str] = (), progress: Note = silent) -> tuple[list[str], list[str]]:
    """Stop detached services, and remove what killed owners left; return what both were."""
    wanted = _with_dependants(check_names(names))
    stopped = []
    with _turn():
        ours = [found for found in _ours() if found[0].service in wanted]
        for instance, record in sorted(ours, key=lambda found: wanted.index(found[0].service)):
            progress(f"stopping {instance.service}")
            _stop(instance, record)
            stopped.append(instance.service)
        left = leftovers()
        _remove_leftovers()
    return stopped, left


def status(names: Iterable[str] = ()) -> list[Status]:
    """Return which services are up."""
    found = {instance.service: (instance, record) for instance, record in _ours()}
    return [
        _status(*found[name]) if name in found else Status(name, up=False)
        for name in check_names(names)
    ]


def leftovers() -> list[str]:
    """Describe what killed owners left: processes and folders, for `services down` to remove."""
    processes = [f"process {seen.pid}" for seen in process.leftovers()]
    folders = [instance.folder for instance, _ in _abandoned()] + Instance.orphans()
    folders += runtime.abandoned_folders()
    return processes + [f"folder {folder}" for folder in folders]


def remove_leftovers() -> list[str]:
    """Remove what killed owners left, and return what it was."""
    with _turn():
        found = leftovers()
        _remove_leftovers()
    return found


def _with_dependants(wanted: Sequence[str]) -> list[str]:
    """Return services and those that need them, each before what it needs."""
    users = [name for name in loadable() if not set(wanted).isdisjoint(in_order([name]))]
    ordered = [name for name in reversed(in_order(reversed(users))) if name in users]
    return [*ordered, *(name for name in wanted if name not in ordered)]


def _startable(names: Iterable[str], progress: Note) -> list[str]:
    """Return the names; if none is given, all services except those that do not load."""
    wanted = check_names(names)
    if names:
        return wanted
    found = []
    for name in wanted:
        try:
            for each in in_order([name]):
                service(each).check()
            found.append(name)
        except StreamgaugeError as error:
            progress(f"{name} is left out: {error.message}")
    return found


def _running(instance: Instance, record: InstanceRecord) -> RunningService[Endpoint]:
    """Return a service that is already up, for those that need it."""
    kind, variables = service(instance.service), dict(_variables(instance, record))
    endpoint = kind.parse(Given(record.address, from_env=True), {**os.environ, **variables})
    return RunningService(kind.name, kind.role, endpoint)


def _turn() -> AbstractContextManager[None]:
    """Wait until no other `services` command changes anything."""
    return runtime.locked(runtime.runtime_dir() / "services.lock")


def _ours() -> list[tuple[Instance, InstanceRecord]]:
    """Return the detached services that run: number, start and marker must agree."""
    return [
        (instance, record)
        for instance, record in Instance.found()
        if record.owner is None and _serves(instance, record)
    ]


def _abandoned() -> list[tuple[Instance, InstanceRecord]]:
    """Return the instances whose owner is gone, and the detached ones whose process is gone."""
    return [
        (instance, record)
        for instance, record in Instance.found()
        if not (_serves(instance, record) if record.owner is None else record.owner.alive)
    ]


def _serves(instance: Instance, record: InstanceRecord) -> bool:
    """Return whether all recorded processes still run and are those that we started."""
    return bool(record.processes) and all(
        seen.alive and process.belongs(seen, instance.folder) for seen in record.processes
    )


def _stop(instance: Instance, record: InstanceRecord) -> None:
    for seen in record.processes:
        seen.end(signal.Signals(record.stop_signal))
    instance.remove()


def _remove_leftovers() -> None:
    for instance, _ in _abandoned():
        instance.remove()
    for seen in process.leftovers():
        seen.end()
    for orphan in (*Instance.orphans(), *runtime.abandoned_folders()):
        shutil.rmtree(orphan, ignore_errors=True)


def _status(instance: Instance, record: InstanceRecord) -> Status:
    return Status(
        instance.service,
        True,
        record.address,
        tuple(seen.pid for seen in record.processes),
        instance.log,
        tuple(_variables(instance, record)),
    )


def _variables(instance: Instance, record: InstanceRecord) -> Iterator[tuple[str, str]]:
    yield variable(instance.service), record.address
    if instance.secret_file.exists():
        yield variable(instance.service, "password_file"), str(instance.secret_file)
