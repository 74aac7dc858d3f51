"""Task files: ordered patterns in YAML; an error names its line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import yaml

from streamgauge.errors import UsageError, unknown_name
from streamgauge.profiling.tasks import Pattern, Tasks

DEFAULT = "spark"
_PATTERNS = ("roles", "threads", "frames", "leaves", "otherwise")
_SECTIONS = ("title", "from", *_PATTERNS, "operators", "names", "rest")


def task_files() -> list[str]:
    """Return the names of the task files that come with the package."""
    folder = resources.files("streamgauge.profiling") / "tasks"
    return sorted(Path(entry.name).stem for entry in folder.iterdir() if ".yaml" in entry.name)


def read_tasks(name: str) -> Tasks:
    """Read a task file: one of the package by its name, or one of the user's by its path.

    Raises:
        UsageError: There is no such file, or something in it is wrong.
    """
    return _read(name, ())


def _read(name: str, within: tuple[str, ...]) -> Tasks:
    if name in within:
        raise UsageError(f"task file {name} is made from itself", "Leave out its `from`.")
    file = _File(name, _content(name))
    base = file.text("from")
    known = None if base is None else _read(_beside(name, base), (*within, name))
    own = Tasks(
        name=Path(name).stem,
        title=file.text("title") or Path(name).stem,
        **{section: tuple(file.patterns(section)) for section in _PATTERNS},
        operators=file.inverted("operators"),
        names=file.inverted("names"),
        rest=file.text("rest"),
    )
    if known is None:
        if not own.patterns:
            raise UsageError(f"task file {name} has no patterns", "Add some under `frames:`.")
        return own
    return _before(own, known)


def _before(own: Tasks, base: Tasks) -> Tasks:
    """Put the patterns of a file before those of the file that it is made from."""
    return Tasks(
        name=own.name,
        title=own.title,
        **{each: (*getattr(own, each), *getattr(base, each)) for each in _PATTERNS},
        operators={**base.operators, **own.operators},
        names={**base.names, **own.names},
        rest=own.rest or base.rest,
    )


def _beside(name: str, base: str) -> str:
    """Return the path of the file that another is made from."""
    if base in task_files():
        return base
    return str(Path(name).parent / base)


def _content(name: str) -> bytes:
    if name in task_files():
        return (resources.files("streamgauge.profiling") / "tasks" / f"{name}.yaml").read_bytes()
    if Path(name).suffix not in {".yaml", ".yml"}:
        raise unknown_name("task file", name, task_files())
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"task file {name} cannot be read: {error.strerror or error}") from None


class _File:
    """The nodes of a task file, which know their lines."""

    def __init__(self, name: str, content: bytes) -> None:
        self._name = name
        root = _compose(name, content)
        if not isinstance(root, yaml.MappingNode):
            raise self._wrong(root, "it must have sections such as `frames:`")
        self._sections = dict(self._pairs(root))
        for key, (line, _) in self._sections.items():
            if key not in _SECTIONS:
                known = ", ".join(_SECTIONS)
                raise UsageError(f"{name} line {line}: there is no section {key}", f"Use {known}.")

    def text(self, section: str) -> str | None:
        """Return a section that is one word or sentence."""
        if section not in self._sections:
            return None
        return self._scalar(self._sections[section][1])

    def patterns(self, section: str) -> Iterator[Pattern]:
        """Yield the patterns of a section in their order."""
        known: dict[str, str] = {}
        for task, line, text in self._items(section):
            if text in known:
                raise UsageError(
                    f"{self._name} line {line}: {text!r} is never used: {known[text]} has the same"
                    " pattern before it",
                    "Remove one of them.",
                )
            known[text] = task
            yield self._pattern(task, line, text)

    def inverted(self, section: str) -> dict[str, str]:
        """Return the key of each word of a section."""
        return {word: key for key, _, word in self._items(section)}

    def _pattern(self, task: str, line: int, text: str) -> Pattern:
        try:
            fits = re.compile(text)
            if "\\" in task:
                _check_reference(fits, task)
        except (re.error, IndexError) as error:
            raise UsageError(
                f"{self._name} line {line}: {text!r} of {task} is not a regular expression: {error}"
            ) from None
        if fits.search("") is not None:
            raise UsageError(
                f"{self._name} line {line}: {text!r} of {task} matches everything",
                "Make it require at least one character.",
            )
        return Pattern(task, fits, line)

    def _items(self, section: str) -> Iterator[tuple[str, int, str]]:
        """Yield (key, line, text) of a section, for each text of its lists."""
        if section not in self._sections:
            return
        _, node = self._sections[section]
        if not isinstance(node, yaml.MappingNode):
            raise self._wrong(node, f"{section} must be lines of `name: pattern`")
        for key, (_, value) in self._pairs(node):
            many = value.value if isinstance(value, yaml.SequenceNode) else [value]
            for each in many:
                yield key, each.start_mark.line + 1, self._scalar(each)

    def _pairs(self, node: yaml.MappingNode) -> Iterator[tuple[str, tuple[int, yaml.Node]]]:
        seen: set[str] = set()
        for key, value in node.value:
            name = self._scalar(key)
            if name in seen:
                raise self._wrong(key, f"{name} appears twice")
            seen.add(name)
            yield name, (key.start_mark.line + 1, value)

    def _scalar(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode) or not node.value:
            raise self._wrong(node, "a text is missing")
        return str(node.value)

    def _wrong(self, node: yaml.Node | None, reason: str) -> UsageError:
        line = 1 if node is None else node.start_mark.line + 1
        return UsageError(f"{self._name} line {line}: {reason}")


def _check_reference(fits: re.Pattern[str], task: str) -> None:
    """Refuse a name that refers to a group which the pattern does not have."""
    for number in re.findall(r"\\(\d+)", task):
        if int(number) > fits.groups:
            raise IndexError(f"it has no group {number}")


def _compose(name: str, content: bytes) -> yaml.Node | None:
    try:
        root: yaml.Node | None = yaml.compose(content.decode("utf-8"), Loader=yaml.SafeLoader)
    except UnicodeDecodeError:
        raise UsageError(f"task file {name} is not text in UTF-8", "Save it as UTF-8.") from None
    except yaml.MarkedYAMLError as error:
        line = f" line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UsageError(f"{name}{line}: this is not YAML: {error.problem}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise UsageError(f"task file {name} is not YAML: {error}") from None
    return root
