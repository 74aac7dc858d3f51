"""The services of a run: which it needs, which were given, and how each is set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from streamgauge.errors import UsageError, unknown_name
from streamgauge.planning.asked import Asked
from streamgauge.planning.parts import trial_services
from streamgauge.services import choice
from streamgauge.services.addresses import Given
from streamgauge.services.running import Options
from streamgauge.services.service import Startable
from streamgauge.spec.run import RunSpec


def needed_services(spec: RunSpec) -> list[str]:
    """Name the services that a run needs, each after those that it depends on."""
    trials = (spec.trial(1, query, spec.rates[0]) for query in spec.queries)
    needed = (name for trial in trials for name in trial_services(trial))
    return choice.in_order(dict.fromkeys(needed))


def choose_services(spec: RunSpec, options: Options | None = None) -> list[Startable]:
    """Return the services that a run needs: given ones where it names an address."""
    options = options or Options()
    # Given ones first: an unusable one is refused before anything is started.
    wanted = sorted(needed_services(spec), key=lambda name: name not in spec.services)
    return [_choose(spec, name, options) for name in wanted]


def take_services(merged: dict[str, Asked]) -> dict[str, Asked]:
    """Remove and return the addresses of services, each a field of its service's name."""
    return {name: merged.pop(name) for name in choice.names() if name in merged}


def with_services(
    spec: RunSpec, given: Mapping[str, Asked], note: Callable[[str], None]
) -> RunSpec:
    """Write the addresses of the services that the run needs into it, without their secrets."""
    needed = needed_services(spec)
    addresses: dict[str, str] = {}
    accounts: dict[str, str] = {}
    for name, asked in given.items():
        from_env = asked.origin == "environment"
        endpoint = choice.service(name).parse(Given(str(asked.value), from_env=from_env))
        if name not in needed:
            note(f"{name} at {endpoint.address} is given, but nothing here needs it: not used")
            continue
        addresses[name] = endpoint.address
        if user := getattr(endpoint, "user", ""):
            accounts[name] = user
    for name in dict.fromkeys(key.partition(".")[0] for key in spec.service_settings):
        if name not in needed:
            note(f"-S {name}.… is given, but nothing here needs {name}: not used")
    return spec.model_copy(update={"services": addresses, "accounts": accounts})


def read_service_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of services (-S) by `name.key`; a preset may write them below the name.

    Raises:
        UsageError: There is no such service or setting, or it has no such value.
    """
    values: dict[str, Any] = {}
    for name, value in given.items():
        below = value if isinstance(value, Mapping) and "." not in name else None
        inner = {f"{name}.{key}": each for key, each in (below or {}).items()}
        values |= inner or {name: value}
    for key in values:
        name, dot, _ = key.partition(".")
        if name not in choice.names():
            raise unknown_name("service", name, choice.names())
        if not dot:
            raise UsageError(f"-S {key}: no setting is named", f"Write -S {name}.KEY=VALUE.")
    for name in {key.partition(".")[0] for key in values}:
        choice.read_settings(choice.service(name), settings_of(name, values))
    return values


def settings_of(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of one service."""
    prefix = f"{name}."
    return {k.removeprefix(prefix): v for k, v in values.items() if k.startswith(prefix)}


def _choose(spec: RunSpec, name: str, options: Options) -> Startable:
    settings = settings_of(name, spec.service_settings)
    options = replace(options, counts=spec.engine is None)
    if name not in spec.services:
        return choice.embedded(name, options, settings)
    # The user is not in the spec, which is stored; the environment knows the rest.
    address = Given(spec.services[name], user=spec.accounts.get(name))
    return choice.given(name, address, options, settings)
