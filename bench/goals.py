"""What is to be reached, row by row: the one list that programs and the table take their goals from.

A figure is named as the program that measures it names it. Its goal is a ratio to the peer named in the row; MOST has those that are to stay at
or below their goal, of which several count something rather than compare it.
"""

DECODE = {"blosclz5": 0.9, "lz45": 0.9, "zstd1": 0.75, "zstd5": 0.75}
ENCODE = {"blosclz5": 0.7, "lz45": 0.7, "zstd1": 0.7, "zstd5": 4.0}


def containers(op, goals):
    cases = [(case, name, threads) for case in goals for name in ("shuffle", "bitshuffle") for threads in (1, 2)]
    return {f"{op} {case}-{name}, {threads} thread{'s' * (threads > 1)}": goals[case] for case, name, threads in cases}


# What is done, against whom, what is to be reached, in words; the figures and their goals.
ROWS = [
    (
        "random 2 KiB zstd subchunks, warm index, 1 and 2 threads",
        "zarrista cached",
        "3x, 3x",
        {"subchunks, zstd, 1 thread": 3.0, "subchunks, zstd, 2 threads": 3.0},
    ),
    (
        "the same, uncompressed",
        "zarrista cached",
        "6x",
        {"subchunks, raw, 1 thread": 6.0, "subchunks, raw, 2 threads": 6.0},
    ),
    (
        "whole shard of 1024 small zstd subchunks, and of uncompressed ones",
        "best of tensorstore, zarrista, zarrs",
        "1.5x, 1.5x",
        {"whole shards, zstd": 1.5, "whole shards, raw": 1.5},
    ),
    ("cold 4 MiB indexes, 2 threads, one cache", "zarrista", "3x", {"cold indexes, 2 threads": 3.0}),
    (
        "Blosc2 decode, float32, lz4/zstd/blosclz x shuffle/bitshuffle, 1 and 2 threads",
        "python-blosc2",
        "lz4, blosclz 0.9x each, zstd 0.75x; 1.1x the geometric mean on two",
        {**containers("decode", DECODE), "decode, geometric mean, 2 threads": 1.1},
    ),
    (
        "Blosc2 encode, same; zstd at level 5",
        "python-blosc2",
        "0.7x each at equal ratio ±3 %; 4x at 95 % of the ratio",
        containers("encode", ENCODE),
    ),
    (
        "random 4 KiB rows of an NDArray; vlmeta look-up; refresh; first-chunk update",
        "python-blosc2",
        "5x; 20x; 2x unlocked, 1.5x locked; 50x",
        {
            "rows of 4 KiB": 5.0,
            "vlmeta look-up, unlocked": 20.0,
            "refresh, unlocked": 2.0,
            "refresh, locked": 1.5,
            "update of the first chunk": 50.0,
        },
    ),
    (
        "SWMR growth, one writer, three readers; and with locking",
        "python-blosc2's own pattern on the same machine",
        "1.5x; and a locking cost at most half of theirs",
        {
            "growth, as fast as it can, unlocked": 1.5,
            "growth, as fast as it can, locked": 1.5,
            "what locking costs, 500 batches a second": 0.5,
        },
    ),
    (
        "appends under the lock, 1, 2, 4 processes",
        "python-blosc2",
        "3x",
        {
            "appends of 100 items, 1 process": 3.0,
            "appends of 100 items, 2 processes": 3.0,
            "appends of 100 items, 4 processes": 3.0,
        },
    ),
    (
        "scratch epochs",
        "vitrio",
        "warm 1x of its better of mapped and none; first 3x; resuming 20x",
        {
            "later epochs, mapped; vitrio's better of mapped and none": 1.0,
            "first epoch, mapped": 3.0,
            "resuming, 2000 files, 1 ms an open": 20.0,
            "warm epochs from Python, 1 thread": 1.0,
            "warm epochs from Python, 2 threads": 1.0,
            "warm epochs from Python, 2 threads, the loader's own batches": 1.0,
        },
    ),
    (
        "byte unshuffle 4, bit-unshuffle 4",
        "memcpy of the machine",
        "0.5x, 0.25x",
        {"byte unshuffle 4": 0.5, "bit-unshuffle 4": 0.25},
    ),
    (
        "warm subchunk read",
        "allocations",
        "1 (the result), 0 with `Into`",
        {
            "allocations, zstd": 1,
            "allocations, raw": 1,
            "allocations, zstd, Into": 0,
            "allocations, raw, Into": 0,
        },
    ),
]

GOALS = {name: goal for *_, figures in ROWS for name, goal in figures.items()}
MOST = {name for name in GOALS if name.startswith("allocations") or name.startswith("what locking costs")}
