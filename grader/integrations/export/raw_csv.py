"""A CSV file whose cells can be replaced one by one while every other byte stays as it is."""

import re
from dataclasses import dataclass

_ENDS = ("\r\n", "\n", "\r")
_QUOTED = re.compile(r'"(?P<text>(?:[^"]|"")*+)"(?P<rest>.*)', re.DOTALL)


class NotCsv(ValueError):
    """The text is no CSV; the message says where."""


@dataclass
class Row:
    """One record: its cells as they stand in the file, quotes included, and its line break."""

    cells: list[str]
    end: str
    line: int

    def value(self, column: int) -> str:
        """A cell's text; "" where the row is too short."""
        if column >= len(self.cells):
            return ""
        cell = self.cells[column]
        if match := _QUOTED.fullmatch(cell):
            return match["text"].replace('""', '"') + match["rest"]
        return cell

    def values(self) -> list[str]:
        """The text of every cell."""
        return [self.value(column) for column in range(len(self.cells))]

    def replace(self, column: int, text: str) -> None:
        """Put `text`, which needs no quotes, into a cell; quotes that are there stay."""
        quoted = self.cells[column].startswith('"')
        self.cells[column] = f'"{text}"' if quoted else text


def parse(text: str, delimiter: str) -> list[Row]:
    """The rows of a CSV text without its byte order mark; `join` of them is `text` again.

    Raises NotCsv for a quote that is never closed.
    """
    separator = re.escape(delimiter)
    cell = re.compile(rf'"(?:[^"]|"")*+"[^{separator}\r\n]*+|(?!")[^{separator}\r\n]*+')
    rows: list[Row] = []
    cells: list[str] = []
    at, line = 0, 1
    start = line
    while at < len(text) or cells:
        match = cell.match(text, at)
        if match is None:
            raise NotCsv(f"the quote in line {line} is never closed")
        cells.append(match[0])
        line += len(re.findall(r"\r\n|\r|\n", match[0]))
        at = match.end()
        if text.startswith(delimiter, at):
            at += 1
            continue
        end = next((end for end in _ENDS if text.startswith(end, at)), "")
        at += len(end)
        line += bool(end)
        rows.append(Row(cells, end, start))
        cells, start = [], line
    return rows


def join(rows: list[Row], delimiter: str) -> str:
    """The text that the rows came from, with the cells that were replaced."""
    return "".join(delimiter.join(row.cells) + row.end for row in rows)
