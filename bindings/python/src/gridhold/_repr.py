"""How things show what they are: one line in a terminal, a table in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


def size(n: float) -> str:
    """A number of bytes, to be read by people."""
    for unit in _UNITS[:-1]:
        if abs(n) < 1024:
            break
        n /= 1024
    else:
        unit = _UNITS[-1]
    return f"{n:.0f} {unit}" if unit == "bytes" else f"{n:.1f} {unit}"


def line(thing: object, where: str, *what: str) -> str:
    """``<gridhold NDArray 'a.b2nd': (61, 37) float64, chunks (20, 16)>``"""
    told = ", ".join(w for w in what if w)
    return f"<gridhold {type(thing).__name__} {where}{': ' if told else ''}{told}>"


class Shown:
    """What has rows to show; ``_repr_html_`` is what notebooks ask for."""

    def _rows(self) -> Sequence[tuple[str, Any]]:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        import html  # which takes a while to load

        try:
            rows = self._rows()
        except Exception as e:  # a notebook prints it in the midst of other things
            rows = [("closed or gone", e)]
        cells = "".join(
            f'<tr><th style="text-align: left">{html.escape(name)}</th><td style="text-align: left">{html.escape(str(value))}</td></tr>'
            for name, value in rows
            if value is not None and value != ""
        )
        return f"<table><caption>gridhold {type(self).__name__}</caption><tbody>{cells}</tbody></table>"
