"""Text and numbers as cells of a spreadsheet."""

# What makes Excel, LibreOffice or Google Sheets read a cell as a formula; the wide forms are taken
# for the narrow ones by some of them.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def text_cell(text: str) -> str:
    """`text` that no spreadsheet computes: an apostrophe stands before what would be a formula."""
    if text.startswith(("\t", "\r", "\n")) or text.lstrip().startswith(_FORMULA):
        return f"'{text}"
    return text


def number_cell(number: float | None) -> str:
    """`12`, `12.5`, or nothing: at most 6 digits after the point, never an exponent."""
    return "" if number is None else f"{number:.6f}".rstrip("0").rstrip(".")
