"""Kernels by hand in the text of core, and their digests."""

from __future__ import annotations

from soac.frontend.compile import compile_text
from soac.ir.by_hand import digests, kernel_of_guard
from soac.ir.parse import parse_prog
from soac.ir.show import same, show_located
from tests.support.by_hand import NAMES, text_of


def test_they_read_back() -> None:
    for name in NAMES:
        core = compile_text(text_of(name), f"{name}.soac")
        assert same(parse_prog(show_located(core)), core)


def test_digests_are_of_what_matters() -> None:
    text = text_of("block_sum")
    first = digests(compile_text(text, "k.soac"))
    assert set(first) == {"sums_tree", "sums_collective"}
    assert digests(compile_text("def other = 1i32\n-- more\n" + text, "other.soac")) == first
    assert digests(compile_text(text.replace("127) / 128", "128) / 128"), "k.soac")).keys() == first.keys()
    changed = digests(compile_text(text.replace("64 >> step", "32 >> step"), "k.soac"))
    assert changed["sums_tree"] != first["sums_tree"]
    assert changed["sums_collective"] == first["sums_collective"]
    meant = digests(compile_text(text.replace("reduce (+) 0) xs", "reduce f32.max 0) xs"), "k.soac"))
    assert all(meant[name] != first[name] for name in first)


def test_the_kernel_of_a_guard() -> None:
    assert kernel_of_guard("main.ys.by_hand_tile_2_0") == "tile_2"
    assert kernel_of_guard("main.ys.suff_outer_0") is None
