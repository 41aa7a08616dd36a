"""What the simplifier knows while it walks a program, and where it puts the statements it has finished.

The walk goes forward through nested *frames* (function, branch, loop body, lambda, segop body). A finished statement
goes to the outermost frame where its operands are known and where it may be executed: that is all of hoisting.
Names are unique in a program, so one mapping each for types, definitions and aliases serves all frames.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import field
from enum import Enum

from ...ir.attributes import is_opaque
from ...ir.core import Body, Copied, Exp, Lambda, Param, Stm
from ...ir.errors import NOWHERE, Loc
from ...ir.records import dataclass
from ...ir.rename import Renaming, rename_lambda, rewrite_exp, rewrite_params
from ...ir.traverse import COMPOUND, operands, scoped_bodies, with_bodies
from ...ir.types import Atom, Const, Name, Names, Prim, Type, Var, scalar
from ..aliasing.classes import Sharing, note_body, note_sharing

EMPTY = Body((), ())


class FrameKind(Enum):
    """What encloses the statements of a frame; decides what may leave it."""

    ROOT = "root"
    BRANCH = "branch"
    LOOP = "loop"
    LAMBDA = "lambda"
    SEGOP = "segop"


@dataclass(slots=True)
class Frame:
    """Statements being gathered; `runs` if the frame is executed whenever the enclosing one is."""

    kind: FrameKind
    runs: bool
    stms: list[Stm] = field(default_factory=list)
    shared: list[tuple[Hashable, Stm]] = field(default_factory=list)
    width: Atom | None = None
    rows: dict[Name, Param] = field(default_factory=dict)
    """Of a map's lambda: further inputs asked for while its body is simplified, with the parameter for their rows."""


@dataclass(frozen=True, slots=True)
class Range:
    """Facts about an integer: `low <= x`, and `x < base + offset` for each of `below` (base None: the offset alone)."""

    low: int | None
    below: tuple[tuple[Name | None, int], ...]


NOTHING_KNOWN = Range(None, ())


@dataclass(slots=True)
class Env:
    """State of one walk over one program."""

    names: Names
    sharing: Sharing
    consumes: Mapping[Name, tuple[int, ...]]
    step: Callable[[Stm], None]
    types: dict[Name, Type] = field(default_factory=dict)
    definitions: dict[Name, Stm] = field(default_factory=dict)
    levels: dict[Name, int] = field(default_factory=dict)
    aliases: dict[Name, Atom] = field(default_factory=dict)
    guarded: dict[Name, tuple[Atom, tuple[Name, ...]]] = field(default_factory=dict)
    ranges: dict[Name, Range] = field(default_factory=dict)
    uses: Counter[Name] = field(default_factory=Counter)
    counters: dict[Name, int] = field(default_factory=dict)
    """Parameters that count the rows of a map (elements of `iota n from 0 by 1`), with the level of its lambda."""
    seen: dict[Hashable, list[Stm]] = field(default_factory=dict)
    frames: list[Frame] = field(default_factory=list)
    loc: Loc = NOWHERE
    copies: list[Stm] = field(default_factory=list)
    """Copies that follow the statement at hand."""
    behind: bool = False
    """Whether something changed that the walk had passed: rules that had their turn may apply now."""

    # ---- names ---------------------------------------------------------------------------------------------------

    def type_of(self, atom: Atom) -> Type:
        return self.types[atom.name] if isinstance(atom, Var) else scalar(atom.prim)

    @property
    def in_thread(self) -> bool:
        """Whether this is inside of a SOAC or segop."""
        return any(frame.kind in (FrameKind.LAMBDA, FrameKind.SEGOP) for frame in self.frames)

    def definition(self, atom: Atom) -> Exp | None:
        """The expression that an atom names, if nothing else (a certificate) comes with it and nothing hides it."""
        stm = self.definitions.get(atom.name) if isinstance(atom, Var) else None
        return stm.exp if stm is not None and not stm.certs and len(stm.pat) == 1 and not is_opaque(stm) else None

    def value_of(self, atom: Atom) -> Exp | None:
        """The expression that an atom names, for proofs about its value: no check that comes with it changes that."""
        stm = self.producer(atom.name) if isinstance(atom, Var) else None
        return stm.exp if stm is not None and len(stm.pat) == 1 else None

    def producer(self, name: Name) -> Stm | None:
        """The statement that binds an array, certificates and all, unless it is to be hidden."""
        stm = self.definitions.get(name)
        return None if stm is None or is_opaque(stm) else stm

    def bind(self, params: Iterable[Param]) -> None:
        """Makes known the names bound in the innermost frame; those used as sizes are not negative."""
        level = len(self.frames) - 1
        bound = tuple(params)
        for param in bound:
            self.types[param.name] = param.type
            self.levels[param.name] = level
        sizes = {size for param in bound for size in param.type.shape}
        for param in bound:
            if Var(param.name) in sizes:
                self.ranges[param.name] = Range(0, self.range_of(param.name).below)

    def range_of(self, name: Name) -> Range:
        return self.ranges.get(name, NOTHING_KNOWN)

    def alias(self, name: Name, atom: Atom) -> None:
        """From now on `name` is `atom`."""
        self.aliases[name] = atom
        self.count_as(name, atom)

    def guard(self, name: Name, atom: Atom, certs: tuple[Name, ...]) -> None:
        """From now on `name` is `atom` with certificates."""
        self.guarded[name] = (atom, certs)
        self.count_as(name, atom)

    def count_as(self, name: Name, atom: Atom) -> None:
        """Uses of `name` are uses of `atom`, and what overwrites one overwrites the other."""
        if isinstance(atom, Var):
            self.uses[atom.name] += self.uses[name]
            if self.types[atom.name].shape:
                self.sharing.link(atom.name, name)

    def may_share(self, param: Param) -> bool:
        """Whether another value of the same expression may be this one: a scalar, or an array never overwritten."""
        return not param.type.shape or not self.sharing.consumed(param.name)

    def remember(self, key: Hashable, stm: Stm, level: int) -> None:
        """Lets later statements with the same key be this one, as long as the frame at `level` lasts."""
        if all(map(self.may_share, stm.pat)):
            self.seen.setdefault(key, []).append(stm)
            self.frames[level].shared.append((key, stm))

    # ---- uses ----------------------------------------------------------------------------------------------------

    def resolve(self, atom: Atom) -> Atom:
        return self.aliases.get(atom.name, atom) if isinstance(atom, Var) else atom

    def resolve_stm(self, stm: Stm) -> Stm:
        """`stm` with its own operands and types in terms of what is known; its bodies are left for later."""
        if type(stm.exp) not in COMPOUND and self.is_resolved(stm):
            return stm
        certs: dict[Name, None] = {}
        for cert in stm.certs:
            atom = self.resolve(Var(cert))
            if isinstance(atom, Var):
                certs[atom.name] = None

        def use(name: Name) -> Atom:
            atom = self.aliases.get(name)
            if atom is not None:
                return atom
            if name in self.guarded:
                atom, needed = self.guarded[name]
                certs.update(dict.fromkeys(needed))
                return atom
            return Var(name)

        renaming = Renaming(use, _same, _same)
        inner = [body for _, body in scoped_bodies(stm.exp)]
        if inner:
            bare = rewrite_exp(with_bodies(stm.exp, [EMPTY] * len(inner)), renaming)
            exp = with_bodies(bare, inner)
        else:
            exp = rewrite_exp(stm.exp, renaming)
        return Stm(rewrite_params(stm.pat, self.sizes), exp, tuple(certs), stm.attrs, stm.loc)

    def is_resolved(self, stm: Stm) -> bool:
        """Whether a statement without bodies mentions nothing that is known to be something else, and no certificate
        twice: most are so."""
        if len(set(stm.certs)) < len(stm.certs):
            return False
        names = [atom.name for atom in operands(stm.exp) if isinstance(atom, Var)]
        names += stm.certs
        for param in stm.pat:
            names += [size.name for size in param.type.shape if isinstance(size, Var)]
        return self.aliases.keys().isdisjoint(names) and self.guarded.keys().isdisjoint(names)

    @property
    def sizes(self) -> Renaming:
        """How sizes in types are rewritten: they compute nothing, and need no certificate."""

        def use(name: Name) -> Atom:
            atom = self.aliases.get(name)
            return atom if atom is not None else self.guarded[name][0] if name in self.guarded else Var(name)

        return Renaming(use, _same, _same)

    # ---- statements ----------------------------------------------------------------------------------------------

    def emit(self, base: str, exp: Exp, type_: Type, certs: tuple[Name, ...] = ()) -> Atom:
        """A new statement before the one being simplified; gives the atom that stands for its value."""
        name = self.names.fresh(base)
        stm = Stm((Param(name, type_),), exp, certs, (), self.loc)
        note_sharing(stm, self.sharing, self.consumes)
        self.step(stm)
        return self.resolve(Var(name))

    def are_to_stay_apart(self, x: Name, y: Name) -> bool:
        """Whether two arrays that are apart so far would see that one is overwritten, if they had one memory."""
        return (self.sharing.consumed(x) or self.sharing.consumed(y)) and not self.sharing.same(x, y)

    def again(self, function: Lambda) -> Lambda:
        """A copy of a function with names of its own."""
        copy = rename_lambda(function, self.names)
        note_body(copy.body, self.sharing, self.consumes)
        return copy

    def bring(self, stm: Stm, pattern: Iterable[tuple[Param, Atom]]) -> list[Stm]:
        """Copies that bind the given names to atoms, in place of `stm`, whose certificates they keep."""
        return [Stm((param,), Copied(atom), stm.certs, (), stm.loc) for param, atom in pattern]

    def innermost_width(self, level: int) -> Atom | None:
        """How often the innermost loop or lambda body around the frame at `level` is executed, if that has a name."""
        frames = (frame for frame in reversed(self.frames[: level + 1]) if frame.kind is not FrameKind.BRANCH)
        return next(frames).width

    @property
    def here(self) -> int:
        """The level of the innermost frame."""
        return len(self.frames) - 1

    def place(self, stm: Stm, level: int) -> None:
        """Puts a finished statement into the frame at `level`."""
        self.frames[level].stms.append(stm)
        for param in stm.pat:
            self.types[param.name] = param.type
            self.levels[param.name] = level
            self.definitions[param.name] = stm
        if len(stm.pat) > 1:
            sizes = {size for param in stm.pat for size in param.type.shape}
            for param in stm.pat:
                if Var(param.name) in sizes:
                    self.ranges[param.name] = Range(0, self.range_of(param.name).below)

    def open(self, kind: FrameKind, *, runs: bool, width: Atom | None = None) -> Frame:
        frame = Frame(kind, runs, width=width)
        self.frames.append(frame)
        return frame

    def close(self) -> list[Stm]:
        """Ends the innermost frame: its statements; what was computed in it is no longer there to be shared."""
        frame = self.frames.pop()
        for key, stm in frame.shared:
            self.seen[key] = [other for other in self.seen[key] if other is not stm]
        return frame.stms


def _same(name: Name) -> Name:
    return name


def with_certs(stm: Stm, exp: Exp, *others: Stm) -> Stm:
    """`stm` with another expression, relying also on what `others` rely on."""
    certs = dict.fromkeys(stm.certs)
    for other in others:
        certs.update(dict.fromkeys(other.certs))
    return Stm(stm.pat, exp, tuple(certs), stm.attrs, stm.loc)


def is_zero(atom: Atom) -> bool:
    """The integer constant 0."""
    return isinstance(atom, Const) and atom.prim.is_int and atom.value == 0


def is_one(atom: Atom) -> bool:
    """The integer constant 1."""
    return isinstance(atom, Const) and atom.prim.is_int and atom.value == 1


def known_i64(atom: Atom) -> int | None:
    """The value of an i64 constant."""
    return int(atom.value) if isinstance(atom, Const) and atom.prim is Prim.I64 else None
