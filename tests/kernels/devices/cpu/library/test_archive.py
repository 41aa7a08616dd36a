"""Static libraries: what an archive holds and where its index says that it is."""

from __future__ import annotations

import struct

from soac.kernels.devices.cpu.library import targets
from soac.kernels.devices.cpu.library.archive import HEADER, MAGIC, archive
from soac.kernels.devices.cpu.runtime import jit

TEXTS = (
    "define i32 @one() { ret i32 1 }\ndefine internal i32 @mine() { ret i32 3 }",
    "define i32 @two() { ret i32 2 }\n@three = constant i8 3",
)


def test_the_index_says_where_symbols_are() -> None:
    targets.prepare()
    objects = [jit.compile_object((text,), targets.NAMED["aarch64"].host) for text in TEXTS]
    data = archive(objects)
    assert data.startswith(MAGIC)
    index = len(MAGIC) + HEADER
    (count,) = struct.unpack_from(">I", data, index)
    places = struct.unpack_from(f">{count}I", data, index + 4)
    names = data[index + 4 + 4 * count :].split(b"\0")[:count]
    found = {name.decode(): data[place + HEADER :][:4] for name, place in zip(names, places, strict=True)}
    assert found == dict.fromkeys(("one", "two", "three"), b"\x7fELF")
    assert (places[0] != places[1], places[1] == places[2]) == (True, True)
    for place, content in zip(sorted(set(places)), objects, strict=True):
        assert place % 2 == 0
        assert int(data[place + 48 : place + 58]) == len(content)
        assert data[place + HEADER :][: len(content)] == content
