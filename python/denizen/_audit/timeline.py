"""The live objects of an audit over time, thinned out and laid out for a picture."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

__all__ = ["Line", "Scale", "Timeline", "duration", "lay_out", "short"]

#: Most moments that a picture shows: about as many as a screen has columns for it.
COLUMNS = 480

_UNITS = [(3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs")]

#: Peaks this many times apart are hard to read on one linear axis.
APART = 20


@dataclass(frozen=True)
class Line:
    """One type's objects: for each moment the most, the fewest and the last of its interval."""

    type: str
    most: list[int]
    fewest: list[int]
    last: list[int]
    #: The largest number of all, which may have passed between two samples.
    peak: int
    #: The moment at which the samples were largest, as an index.
    peak_at: int


@dataclass(frozen=True)
class Scale:
    """From numbers to a height between 0 and 1, with the numbers that are written beside it."""

    top: int
    logarithmic: bool
    ticks: list[int] = field(init=False)

    def __post_init__(self) -> None:
        ticks = _decades(self.top) if self.logarithmic else _steps(self.top)
        object.__setattr__(self, "ticks", ticks)

    def height(self, count: int) -> float:
        """0 is at the bottom of both scales: the logarithm is that of one more."""
        # A count may be below 0, when objects from before the audit were destroyed in it.
        count = max(count, 0)
        if self.logarithmic:
            return math.log1p(count) / math.log1p(self.top)
        return count / self.top


@dataclass(frozen=True)
class Timeline:
    """What is drawn: moments in seconds, and a line a type."""

    seconds: list[float]
    #: The end of the time axis.
    end: float
    lines: list[Line]
    #: Whether each moment stands for an interval with several samples.
    thinned: bool

    def scales(self) -> list[Scale]:
        """The scales of the picture, the better one first; one where both would show the same."""
        top = max((line.peak for line in self.lines), default=0) or 1
        linear, logarithmic = Scale(top, False), Scale(top, True)
        if top < APART:
            return [linear]
        lowest = min((line.peak for line in self.lines if line.peak), default=top)
        return [logarithmic, linear] if top > APART * lowest else [linear, logarithmic]

    def ticks(self) -> list[tuple[float, str]]:
        """Round moments to write below the picture, all in one unit."""
        if self.end <= 0:
            return [(0.0, duration(0.0))]
        unit, name = next((entry for entry in _UNITS if self.end >= entry[0]), _UNITS[-1])
        step = unit * _round_step(self.end / unit / 6.5)
        count = int(self.end / step + 1e-9)
        return [(index * step, f"{index * step / unit:g} {name}") for index in range(count + 1)]

    def path(self, line: Line, scale: Scale) -> str:
        """An SVG path in a box of 1000 by 1000: steps, with the spikes within an interval."""
        parts: list[str] = []
        end = self.end or 1.0
        for moment, most, fewest, last in zip(
            self.seconds, line.most, line.fewest, line.last, strict=True
        ):
            x = f"{1000 * moment / end:.1f}"
            parts.append(f"H{x}" if parts else f"M{x},{_y(scale, last)}")
            spike = [most, fewest] if last != most else [fewest, most]
            for count in (*(spike if most != fewest else ()), last):
                if parts[-1] != (step := f"V{_y(scale, count)}"):
                    parts.append(step)
        return "".join((*parts, "H1000"))

    def rows(self, most: int) -> Iterator[tuple[float, list[int]]]:
        """A table's rows, at most about this many: even steps in time, and every peak."""
        count = len(self.seconds)
        chosen = set(range(0, count, max(1, math.ceil(count / most)))) | {count - 1}
        chosen |= {line.peak_at for line in self.lines}
        for index in sorted(chosen):
            yield self.seconds[index], [line.most[index] for line in self.lines]


def _y(scale: Scale, count: int) -> str:
    return f"{1000 - 1000 * scale.height(count):.1f}"


def lay_out(
    seconds: Sequence[float],
    live: Mapping[str, Sequence[int]],
    peaks: Mapping[str, int],
    end: float,
) -> Timeline | None:
    """A report's timeline; None where it has no sample.

    `seconds` are the moments of the samples, `live` the numbers of objects a type at each of them,
    `peaks` the largest numbers a type, `end` is how long the audit took in seconds.
    """
    count = min((len(seconds), *map(len, live.values())))
    if not count or not live:
        return None
    end = max(end, seconds[count - 1])
    intervals = _intervals(seconds[:count], end)
    lines = []
    for name, counts in live.items():
        parts = [counts[start:stop] for start, stop in intervals]
        most = [max(part) for part in parts]
        peak = max(*most, peaks.get(name, 0), 0)
        lines.append(
            Line(
                type=name,
                most=most,
                fewest=[min(part) for part in parts],
                last=[part[-1] for part in parts],
                peak=peak,
                peak_at=most.index(max(most)),
            )
        )
    moments = [seconds[start] for start, _ in intervals]
    return Timeline(moments, end, lines, thinned=len(intervals) < count)


def _intervals(seconds: Sequence[float], end: float) -> list[tuple[int, int]]:
    """Ranges of samples, each drawn as one moment; those that are close together share one."""
    if len(seconds) <= COLUMNS:
        return [(index, index + 1) for index in range(len(seconds))]
    edges = [0]
    for column in range(1, COLUMNS):
        edge = bisect_right(seconds, end * column / COLUMNS)
        if edge > edges[-1]:
            edges.append(edge)
    if edges[-1] < len(seconds):
        edges.append(len(seconds))
    return list(pairwise(edges))


def _round_step(step: float) -> float:
    """The next of 1, 2, 5, 10, .. at some power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return float(next(power * factor for factor in (1, 2, 5, 10) if power * factor >= step * 0.999))


def _steps(top: int) -> list[int]:
    step = max(1, round(_round_step(top / 4)))
    return list(range(0, top + 1, step))


def _decades(top: int) -> list[int]:
    decades = [10**power for power in range(len(str(top)))]
    return [0, *decades[:: max(1, math.ceil(len(decades) / 6))]]


def short(count: int) -> str:
    """A number for an axis: 1,500, 20 k, 3 M."""
    for unit, name in ((10**9, "G"), (10**6, "M"), (10**4, "k")):
        if count >= unit:
            scale = min(unit, 1000) if name == "k" else unit
            return f"{count / scale:g} {name}"
    return f"{count:,}"


def duration(seconds: float) -> str:
    """A moment or a length of time, in the unit that suits it."""
    if seconds >= 120:
        minutes, rest = divmod(round(seconds), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
    for unit, name in _UNITS[2:]:
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return "0 s"
