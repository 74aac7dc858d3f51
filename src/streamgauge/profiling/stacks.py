"""Sampled stacks in columns: ten million samples are a few arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.errors import UsageError
from streamgauge.measure.statistics import Integers

_SCHEMA = pa.schema(
    [
        ("process", pa.string()),
        ("thread", pa.string()),
        ("count", pa.int64()),
        ("frames", pa.list_(pa.string())),
    ]
)
_ELEMENT = "frames.list.element"


@dataclass(frozen=True, order=True)
class Group:
    """Threads that are counted together: with one name, in processes with one name."""

    process: str
    thread: str


@dataclass(frozen=True)
class Sample:
    """One stack, and how often it was seen."""

    group: Group
    frames: tuple[str, ...]
    """From the root to the leaf."""
    count: int


@dataclass(frozen=True, eq=False)
class Stacks:
    """Different stacks; stack i has the frames `ids[starts[i]:starts[i + 1]]`, from its root."""

    groups: tuple[Group, ...]
    frames: tuple[str, ...]
    """Each once; the stacks hold their numbers."""
    group: Integers
    """Number of each stack's group."""
    count: Integers
    starts: Integers
    """One more than there are stacks."""
    ids: Integers

    def __len__(self) -> int:
        return len(self.count)

    @property
    def samples(self) -> int:
        """How many samples there are in all."""
        return int(self.count.sum())

    def chosen(self, which: Integers) -> Stacks:
        """Return some of the stacks, by their numbers."""
        lengths = np.diff(self.starts)[which]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        first = np.repeat(self.starts[which] - starts[:-1], lengths)
        ids = self.ids[np.arange(starts[-1]) + first]
        return Stacks(self.groups, self.frames, self.group[which], self.count[which], starts, ids)

    def __iter__(self) -> Iterator[Sample]:
        names = np.array(self.frames, dtype=object)
        for number in range(len(self)):
            ids = self.ids[self.starts[number] : self.starts[number + 1]]
            group = self.groups[self.group[number]]
            yield Sample(group, tuple(names[ids]), int(self.count[number]))


def gather(samples: Iterable[Sample]) -> Stacks:
    """Put samples into columns; the same stack of the same group is counted together."""
    counts: dict[tuple[Group, tuple[str, ...]], int] = {}
    for each in samples:
        key = (each.group, each.frames)
        counts[key] = counts.get(key, 0) + each.count
    groups = {group: place for place, group in enumerate(sorted({key[0] for key in counts}))}
    frames: dict[str, int] = {}
    ids = [frames.setdefault(frame, len(frames)) for key in counts for frame in key[1]]
    lengths = [len(key[1]) for key in counts]
    return Stacks(
        tuple(groups),
        tuple(frames),
        np.array([groups[key[0]] for key in counts], dtype=np.int64),
        np.array(list(counts.values()), dtype=np.int64),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.array(ids, dtype=np.int64),
    )


def folded(samples: Iterable[Sample]) -> Iterator[str]:
    """Write stacks as text: `process;thread;root;…;leaf count`."""
    for each in samples:
        words = (each.group.process, each.group.thread, *each.frames)
        yield f"{';'.join(word.replace(';', ':') for word in words)} {each.count}"


def unfolded(lines: Iterable[str]) -> Iterator[Sample]:
    """Read them back."""
    for line in lines:
        text, _, count = line.rpartition(" ")
        process, thread, *frames = text.split(";")
        yield Sample(Group(process, thread), tuple(frames), int(count))


def write_stacks(stacks: Stacks, file: Path) -> None:
    """Write them as a table that any tool reads, a row for each stack."""
    group = np.array([[each.process, each.thread] for each in stacks.groups], dtype=object)
    group = group.reshape(-1, 2)[stacks.group]
    names = pa.array(stacks.frames, pa.string())
    values = pa.DictionaryArray.from_arrays(pa.array(stacks.ids, pa.int32()), names)
    lists = pa.ListArray.from_arrays(pa.array(stacks.starts, pa.int32()), values.cast(pa.string()))
    columns = [pa.array(group[:, 0], pa.string()), pa.array(group[:, 1], pa.string())]
    table = pa.table([*columns, pa.array(stacks.count), lists], schema=_SCHEMA)
    pq.write_table(table, file, compression="zstd")


def read_stacks(file: Path) -> Stacks:
    """Read what was written.

    Raises:
        UsageError: The file is something else.
    """
    try:
        dictionaries = ["process", "thread", _ELEMENT]
        table = pq.read_table(file, read_dictionary=dictionaries).combine_chunks()
        return _from_table(table)
    except (pa.ArrowException, OSError, KeyError) as error:
        raise UsageError(f"{file} holds no readable stacks: {error}") from None


def _from_table(table: pa.Table) -> Stacks:
    if len(table) == 0:
        return gather(())
    lists = table["frames"].chunk(0)
    values = lists.flatten()
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    starts = lists.offsets.to_numpy().astype(np.int64)
    sides = [_encoded(table[name]) for name in ("process", "thread")]
    pairs = np.stack([ids for _, ids in sides], axis=1)
    there, group = np.unique(pairs, axis=0, return_inverse=True)
    names = [names for names, _ in sides]
    return Stacks(
        tuple(Group(names[0][one], names[1][two]) for one, two in there.tolist()),
        tuple(values.dictionary.to_pylist()),
        group.reshape(-1).astype(np.int64),
        table["count"].to_numpy(),
        starts - starts[0],
        values.indices.to_numpy(zero_copy_only=False).astype(np.int64),
    )


def _encoded(column: pa.ChunkedArray) -> tuple[Sequence[str], Integers]:
    encoded = column.unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False)
