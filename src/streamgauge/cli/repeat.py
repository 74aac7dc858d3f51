"""The command that repeats a run: what was typed, and the variables that set an option."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from streamgauge.jobfile import variable
from streamgauge.services import choice
from streamgauge.services.addresses import without_user_info

if TYPE_CHECKING:
    from typer import Context

    from streamgauge.spec.run import RunSpec


def repeat_command(
    context: Context,
    spec: RunSpec,
    arguments: Sequence[str],
    environ: Mapping[str, str] = os.environ,
) -> list[str]:
    """Return the words of a shell command line, with users removed from addresses.

    Args:
        context: The parsed command line.
        spec: The run planned from it.
        arguments: The words after the program's name.
        environ: The environment, in which options may be set.
    """
    of_services = {variable(name) for name in choice.names()}
    used = {name: environ[name] for name in _variables(context) if name not in of_services}
    typed = ["streamgauge", *arguments]
    for service, address in spec.services.items():
        of_service = variable(service)
        if spec.origins.get(service) != "environment":
            continue
        if "@" in environ[of_service]:
            # As an option, so that the variable keeps the user who connects.
            typed.append(f"--service={service}={address}")
        else:
            used[of_service] = address
    return [
        *(f"{name}={shlex.quote(without_user_info(value))}" for name, value in used.items()),
        *(shlex.quote(without_user_info(word)) for word in typed),
    ]


def from_environment(context: Context, parameter: str) -> bool:
    """Return whether a parameter's value came from the environment."""
    source = context.get_parameter_source(parameter)
    return source is not None and "ENV" in source.name


def _variables(context: Context) -> Iterator[str]:
    """Yield the names of the variables that set an option."""
    for parameter in context.command.params:
        if parameter.name is not None and from_environment(context, parameter.name):
            assert isinstance(parameter.envvar, str)
            yield parameter.envvar
