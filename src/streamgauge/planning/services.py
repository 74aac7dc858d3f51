"""The services of a run: which it needs, which were given, and how each is set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from streamgauge.errors import UsageError, unknown_name
from streamgauge.planning.asked import Asked
from streamgauge.planning.parts import trial_services
from streamgauge.services import choice
from streamgauge.services.service import Options, Startable
from streamgauge.spec.addresses import Given
from streamgauge.spec.run import RunSpec


def needed_services(spec: RunSpec) -> list[str]:
    """Name the services that a run needs, each after those that it needs itself."""
    trials = (spec.trial(1, query, spec.rates[0]) for query in spec.queries)
    needed = (name for trial in trials for name in trial_services(trial))
    return choice.in_order(dict.fromkeys(needed))


def choose_services(spec: RunSpec, options: Options | None = None) -> list[Startable]:
    """Return the services that a run needs: given ones where it names an address."""
    options = options or Options()
    return [_choose(spec, name, options) for name in needed_services(spec)]


def take_services(merged: dict[str, Asked]) -> dict[str, Asked]:
    """Take the addresses of services, each a field of its service's name, out of what was asked."""
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
    return spec.model_copy(update={"services": addresses, "accounts": accounts})


def check_settings(values: Mapping[str, Any]) -> None:
    """Refuse settings of services (-S) that make no sense.

    Raises:
        UsageError: There is no such service or setting, or it has no such value.
    """
    for key in values:
        name, dot, _ = key.partition(".")
        if name not in choice.names():
            raise unknown_name("service", name, choice.names())
        if not dot:
            raise UsageError(f"-S {key}: no setting is named", f"Write -S {name}.KEY=VALUE.")
    for name in {key.partition(".")[0] for key in values}:
        choice.read_settings(choice.service(name), _settings_of(values, name))


def _choose(spec: RunSpec, name: str, options: Options) -> Startable:
    settings = _settings_of(spec.service_settings, name)
    options = replace(options, counts=spec.engine is None)
    if name not in spec.services:
        return choice.embedded(name, options, settings)
    # Who connects was left out of the spec, which is written down; the environment knows the rest.
    address = Given(spec.services[name], user=spec.accounts.get(name))
    return choice.given(name, address, options, settings)


def _settings_of(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    prefix = f"{name}."
    return {k.removeprefix(prefix): v for k, v in values.items() if k.startswith(prefix)}
