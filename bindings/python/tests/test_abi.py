"""The constants here are those of docs/abi.md."""

import re
from pathlib import Path

import pytest

import gridhold
from gridhold import _abi, _errors, _files, _guest

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "abi.md").read_text()


def section(title):
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_kinds():
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", section("Operations"), re.M)
    assert len(rows) >= 14
    for number, name in rows:
        assert getattr(_abi, name.upper()) == int(number)


def test_codes():
    rows = re.findall(r"(-\d+) \| (\w+)", section("Codes"))
    assert len(rows) == 19
    for number, name in rows:
        if name == "TooSmall":
            continue
        error = _errors.from_number(int(number), "x")
        assert error.code == name and error.number == int(number)
    assert isinstance(_errors.from_number(-99, "x"), gridhold.IOFailedError)


def test_imports():
    names = re.findall(r"^\| `(\w+)` \|", section("Imports"), re.M)
    assert len(names) >= 10
    for name in names:
        assert hasattr(_guest.Guest, f"import_{name}") or name in _files.IMPORTS
    assert all(hasattr(_files.Files, name) for name in _files.IMPORTS)


def test_sizes():
    assert _abi.READ.size == 32 and _abi.RANGE.size == 32 and _abi.LISTING.size == 20
    assert _abi.RESULT_SIZE == 48 and _abi.MAILBOX_SIZE == 60
    assert len(_abi.info_codec(1, 2)) == _abi.INFO_SIZE == 184
    assert _abi.PATH.size == 32 and _abi.STAT.size == 64 and _abi.COPY.size == 32 and _abi.LOCK.size == 24
    assert _abi.FETCH.size == _abi.FETCH_ANSWER_AT
    assert str(_abi.PENDING) in PAGE


@pytest.mark.parametrize("raw", [b"", bytes(23), bytes(25), b"\1" + bytes(23), b"\xff" * 24, b"\0" * 8 + b"\xff" * 16])
def test_tables_that_contradict_themselves(raw):
    with pytest.raises(gridhold.CorruptError):
        _abi.parse_table(raw)
