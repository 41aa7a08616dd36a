"""Whose memory an array has, against the memories that it may have in a run: all that a body of views, copies, writes,
branches and loops can hand on."""

from __future__ import annotations

from itertools import permutations
from random import Random

from soac.flatten.aliasing.fresh import are_apart, is_own
from soac.ir.parse import parse_prog
from soac.ir.types import Name, Var

Memories = frozenset[str]
VIEWS = ("{x}[0i64 :+ n_1 * 1i64]", "rearrange (0) {x}", "reshape [n_1] {x}")
HANDED_ON = ("{x}", "{x} with [0i64] <- 1i32")
SCATTER = (
    "scatter n_1 (is_9, xs_2, xs_2) rank 1 dests ({x}, {y})"
    " \\(i_6: i64, p_7: i32, q_8: i32) : (i64, i32, i32) -> {{ in (i_6, p_7, q_8) }}"
)
FRESH = ("copy {x}", "replicate [n_1] 7i32", "concat n_1 ({x}, {x})")


class Made:
    """Statements under construction: for each array the memories that it may have, what is known to hold it where that
    is one array, and whether no view or argument is on the way to it."""

    def __init__(self, random: Random) -> None:
        self.random, self.stms = random, list[str]()
        self.memories: dict[str, Memories] = {"xs_2": frozenset({"xs_2"}), "ys_3": frozenset({"ys_3"})}
        self.root: dict[str, str | None] = {"xs_2": "xs_2", "ys_3": "ys_3"}
        self.own: dict[str, bool] = {"xs_2": False, "ys_3": False}

    def let(self, text: str, memories: Memories | None, root: str | None, own: bool) -> None:
        name = f"v_{10 * len(self.memories)}"
        self.stms.append(f"let ({name}: [n_1]i32) = {text}")
        self.memories[name] = frozenset({name}) if memories is None else memories
        self.root[name] = name if memories is None else root
        self.own[name] = own

    def scatter(self, x: str, y: str) -> None:
        """Both at once; what writes twice into one memory is no program, but knows no less of it."""
        names = [f"v_{10 * len(self.memories) + k}" for k in range(2)]
        self.stms.append(f"let ({', '.join(f'{name}: [n_1]i32' for name in names)}) = {SCATTER.format(x=x, y=y)}")
        for name, dest in zip(names, (x, y), strict=True):
            self.memories[name], self.root[name] = self.memories[dest], self.root[dest]
            self.own[name] = self.own[dest]

    def statement(self) -> None:
        x, y = (self.random.choice([*self.memories]) for _ in range(2))
        match self.random.randrange(7):
            case 5:
                self.scatter(x, y)
            case 0:
                self.let(self.random.choice(FRESH).format(x=x), None, None, True)
            case 1:
                self.let(self.random.choice(VIEWS).format(x=x), self.memories[x], self.root[x], False)
            case 2 | 3:
                self.let(self.random.choice(HANDED_ON).format(x=x), self.memories[x], self.root[x], self.own[x])
            case 4:
                (one, mine), (other, also) = self.side(x), self.side(y)
                text = f"if c_4 then {one} else {other}"
                self.let(text, self.memories[x] | self.memories[y] | {"made"}, None, mine and also)
            case _:
                inside, mine = self.side("a_5" if self.random.random() < 0.5 else y, self.own[x])
                text = f"loop (a_5: [n_1]i32 = {x}) for i_6: i64 < n_1 do {inside}"
                self.let(text, self.memories[x] | self.memories[y] | {"made"}, None, self.own[x] and mine)

    def side(self, x: str, own: bool = False) -> tuple[str, bool]:
        """A body that gives an array of outside, that array with an element written, or a copy; whether it is own."""
        match self.random.randrange(3):
            case 0:
                return f"{{ in ({x}) }}", self.own.get(x, own)
            case 1:
                return f"{{ let (w_7: [n_1]i32) = {x} with [0i64] <- 1i32 in (w_7) }}", self.own.get(x, own)
            case _:
                return f"{{ let (w_7: [n_1]i32) = copy {x} in (w_7) }}", True


def test_what_is_known_of_memory() -> None:
    for number in range(120):
        made = Made(Random(number))
        for _ in range(7):
            made.statement()
        head = "fun main_0 (n_1: i64, xs_2: [n_1]i32, ys_3: [n_1]i32, c_4: bool, is_9: [n_1]i64) : (r_8: i64)"
        body = parse_prog(f"next_name 200 {head} = {{ {' '.join(made.stms)} in (n_1) }}").functions[0].body
        defined = {p.name: stm for stm in body.stms for p in stm.pat}
        names = {text: Name(text[: text.index("_")], int(text.partition("_")[2])) for text in made.memories}
        for x in names:
            assert is_own(Var(names[x]), defined) == made.own[x], (x, made.stms)
            assert not made.own[x] or made.memories[x].isdisjoint(("xs_2", "ys_3")) or made.root[x] is None
        for x, y in permutations(names, 2):
            (one, other), pair = (made.root[x], made.root[y]), (names[x], names[y])
            apart = None not in (one, other) and one != other and not {one, other} <= {"xs_2", "ys_3"}
            assert are_apart(*pair, defined) == apart, (x, y, made.stms)
            assert not apart or made.memories[x].isdisjoint(made.memories[y])
