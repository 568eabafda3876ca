"""Where a wrong array is wrong, small enough to be kept and drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

MAX_PANELS, MAX_ROWS, MAX_COLUMNS = 12, 48, 64
# Relative errors from which on an entry counts as further off; infinities and NaN are as far.
LEVELS = (1e-3, 1e-1)
# An outermost axis that goes down, as time does; else it is the last but one.
GO_DOWN = (("step",), ("position",))


@dataclass(frozen=True)
class Difference:
    """An array's entries as a picture: panels of rows and columns.

    Attributes:
        axes: names of the array's axes, outermost first; none where they have no names.
        shape: the array's.
        levels: 0 (right) to 3 (far off), or 4 (wrong, where it is not said by how much), by panel,
            row and column, a digit each. Where an axis is longer than the picture, the worst of the
            entries that share a cell.
        row_axis: the axis that goes down; the last one goes across, others are the panels.
        wrong_at: for each axis the indices at which something is wrong.
    """

    axes: tuple[str, ...]
    shape: tuple[int, ...]
    levels: tuple[tuple[str, ...], ...]
    row_axis: int
    wrong_at: tuple[tuple[int, ...], ...]

    @classmethod
    def of(
        cls, wrong: np.ndarray, axes: tuple[str, ...], error: np.ndarray | None = None
    ) -> Difference | None:
        """None where there is one entry only, or more axes than are ever named.

        Args:
            error: relative, by entry; without it, wrong is wrong.
        """
        if wrong.size < 2 or wrong.ndim > 4:
            return None
        far = np.full(wrong.shape, 4) if error is None else 1 + np.digitize(error, LEVELS)
        levels = np.where(wrong, far, 0).astype(np.uint8)
        row_axis = 0 if axes[:1] in GO_DOWN else max(0, wrong.ndim - 2)
        grid = levels.reshape(1, -1) if wrong.ndim == 1 else np.moveaxis(levels, row_axis, -2)
        panels = grid.reshape(-1, *grid.shape[-2:])[:MAX_PANELS]
        others = [tuple(a for a in range(wrong.ndim) if a != axis) for axis in range(wrong.ndim)]
        return cls(
            axes if len(axes) == wrong.ndim else (),
            wrong.shape,
            _as_digits(_pooled(_pooled(panels, 1, MAX_ROWS), 2, MAX_COLUMNS)),
            row_axis,
            tuple(tuple(map(int, np.flatnonzero(wrong.any(axis=rest)))) for rest in others),
        )

    @property
    def cells(self) -> np.ndarray:
        """The levels as numbers, of shape (panels, rows, columns)."""
        return np.array([[list(map(int, row)) for row in panel] for panel in self.levels])

    @property
    def panel_axes(self) -> tuple[int, ...]:
        """Those that go neither down nor across."""
        return tuple(a for a in range(len(self.shape) - 1) if a != self.row_axis)

    @property
    def n_left_out(self) -> int:
        """Panels that are not in the picture."""
        return math.prod(self.shape[axis] for axis in self.panel_axes) - len(self.levels)

    def place_of_panel(self, panel: int) -> tuple[int, ...]:
        """The indices of a panel, one for each of the panel axes."""
        lengths = tuple(self.shape[axis] for axis in self.panel_axes)
        return tuple(map(int, np.unravel_index(panel, lengths))) if lengths else ()


def _as_digits(levels: np.ndarray) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple("".join(map(str, row)) for row in panel) for panel in levels.tolist())


def _pooled(levels: np.ndarray, axis: int, most: int) -> np.ndarray:
    length = levels.shape[axis]
    if length <= most:
        return levels
    starts = np.unique(np.arange(most) * length // most)
    return np.maximum.reduceat(levels, starts, axis=axis)
