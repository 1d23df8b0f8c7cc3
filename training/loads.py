"""Large files cut into loads that fit one upload each, and put together where they arrive.

    python -m training.loads pack carry FILE …        carry/load-00, carry/load-01, … of at most 52 MB each
    python -m training.loads unpack carry/load-00 TO   on the other machine, once a load; files grow part by part

An upload may be 64 MiB with the working tree in it, so each load is smaller. A file is whole in TO once all of
its parts were unpacked, in any order, and its digest is right; until then its parts lie in TO/.parts.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from training.corpus.index import digest_of

LOAD = 52_000_000
_LIST = "load.json"


@dataclass(frozen=True, slots=True)
class Part:
    """Part `number` of `count` of a file; `sha256` is the whole file's."""

    name: str
    number: int
    count: int
    sha256: str

    @property
    def file(self) -> str:
        """What the part is called in a load."""
        return f"{self.name}.part-{self.number:02d}"


def pack(files: Sequence[Path], carry: Path, size: int = LOAD) -> list[Path]:
    """Write loads below `carry`; what lay there is replaced."""
    if len({file.name for file in files}) < len(files):
        raise ValueError("two files have one name; they would arrive as one.")
    for old in carry.glob("load-[0-9][0-9]"):
        shutil.rmtree(old)
    loads: list[list[Part]] = [[]]
    room = size
    # The large ones first, so that small ones fill what they leave.
    for file in sorted(files, key=lambda path: -path.stat().st_size):
        for part, data in _parts(file, size):
            if len(data) > room and loads[-1]:
                loads.append([])
                room = size
            folder = carry / f"load-{len(loads) - 1:02d}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / part.file).write_bytes(data)
            loads[-1].append(part)
            room -= len(data)
    folders = [carry / f"load-{number:02d}" for number in range(len(loads))]
    for folder, parts in zip(folders, loads, strict=True):
        (folder / _LIST).write_text(json.dumps([asdict(part) for part in parts], indent=1) + "\n", "utf-8")
    return folders


def unpack(load: Path, to: Path) -> list[str]:
    """Take a load in; returns the files that are whole now."""
    parts = [Part(**values) for values in json.loads((load / _LIST).read_text("utf-8"))]
    waiting = to / ".parts"
    waiting.mkdir(parents=True, exist_ok=True)
    whole = []
    for part in parts:
        shutil.copyfile(load / part.file, waiting / part.file)
        there = [waiting / f"{part.name}.part-{number:02d}" for number in range(part.count)]
        if not all(path.exists() for path in there):
            continue
        joined = waiting / part.name
        with joined.open("wb") as out:
            for path in there:
                out.write(path.read_bytes())
        if (found := digest_of(joined)) != part.sha256:
            raise ValueError(f"{part.name} arrived as {found[:12]}, not {part.sha256[:12]}; carry its loads again.")
        joined.replace(to / part.name)
        for path in there:
            path.unlink()
        whole.append(part.name)
    return whole


def _parts(file: Path, size: int) -> Iterator[tuple[Part, bytes]]:
    data = file.read_bytes()
    digest, count = sha256(data).hexdigest(), max(1, -(-len(data) // size))
    for number in range(count):
        yield Part(file.name, number, count, digest), data[number * size : (number + 1) * size]


def main() -> None:
    """Pack or unpack."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack")
    packing.add_argument("carry", type=Path)
    packing.add_argument("files", type=Path, nargs="+")
    packing.add_argument("--size", type=int, default=LOAD)
    unpacking = commands.add_parser("unpack")
    unpacking.add_argument("load", type=Path)
    unpacking.add_argument("to", type=Path)
    args = parser.parse_args()
    if args.command == "pack":
        for folder in pack(args.files, args.carry, args.size):
            size = sum(file.stat().st_size for file in folder.iterdir())
            print(f"{folder} {size / 1e6:.1f} MB: {', '.join(sorted(file.name for file in folder.iterdir()))}")
    else:
        print("whole:", *unpack(args.load, args.to))


if __name__ == "__main__":
    main()
