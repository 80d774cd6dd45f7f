"""Functions of the host as machine code calls them."""

import pytest
import wasmtime

from gridhold._imported import imported

TEXT = """
(module
  (import "" "add" (func $add (param i32 i32) (result i32)))
  (import "" "note" (func $note (param i32)))
  (func (export "run") (param i32 i32) (result i32)
    (call $note (local.get 0))
    (call $add (local.get 0) (local.get 1))))
"""


def made(add):
    engine = wasmtime.Engine()
    store, module, notes = wasmtime.Store(engine), wasmtime.Module(engine, TEXT), []
    kinds = [i.type for i in module.imports]
    functions = [imported(store, kind, f) for kind, f in zip(kinds, (add, notes.append))]
    run = wasmtime.Instance(store, module, [f for f, _ in functions]).exports(store)["run"]
    return lambda *numbers: run(store, *numbers), notes, functions


def test_numbers():
    run, notes, _kept = made(lambda a, b: a + b)
    assert run(3, 4) == 7 and run(-3, 1) == -2 and run(2**31 - 1, 1) == -(2**31)  # the low 32 bits
    assert notes == [3, -3, 2**31 - 1]


def test_what_is_raised_is_a_trap():
    def fails(a, b):
        raise ValueError("no")

    run, _, _kept = made(fails)
    with pytest.raises((wasmtime.Trap, wasmtime.WasmtimeError), match="raised"):
        run(1, 2)
    run, _, _kept = made(lambda a, b: "text")
    with pytest.raises((wasmtime.Trap, wasmtime.WasmtimeError), match="raised"):
        run(1, 2)


def test_other_types_are_refused():
    engine = wasmtime.Engine()
    for text in ("(param i64)", "(result f32)", "(result i32 i32)"):
        module = wasmtime.Module(engine, f'(module (import "" "f" (func {text})))')
        with pytest.raises(TypeError):
            imported(wasmtime.Store(engine), module.imports[0].type, print)
