"""Golden pairs: `tests/flatten/golden/<pass>/<rule>.ir` holds the header of a function, its body, a line `=>`, and the
body afterwards.

Names are compared after renumbering. `pytest --update` writes what comes out (read the diff).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from soac.flatten.simplify.dead_code import remove_dead
from soac.ir.check import Stage, check
from soac.ir.core import Assert, Body, Prog, Scratch, Stm
from soac.ir.parse import parse_prog
from soac.ir.rename import renumbered
from soac.ir.show import show, show_body
from soac.ir.traverse import all_stms, map_bodies
from soac.ir.types import Name, Var

OK, SAID = Name("ok", 900), Var(Name("said", 901))
GOLDEN = Path(__file__).parents[1] / "flatten" / "golden"


def pairs(folder: str) -> list[Path]:
    return sorted((GOLDEN / folder).glob("*.ir"))


def assert_pair(path: Path, run: Callable[[Prog], Prog], update: bool, stage: Stage = Stage.CORE) -> None:
    """`run` turns the first body into the second, or gives it if that is to be an `update`."""
    header, before, after = sections(path.read_text(encoding="utf-8"))
    given = program(header, before)
    check(given, stage)
    found = run(given)
    check(found, stage)
    if update:
        path.write_text(f"{header}\n{before}\n=>\n{_body_of(found)}\n", encoding="utf-8")
        return
    assert show(renumbered(found)) == show(renumbered(program(header, after))), f"\n{_body_of(found)}"


def with_checks(path: Path) -> Iterator[tuple[str, Prog]]:
    """The first body with a check, a program for each array that is needed: what makes it relies on the check."""
    header, before, _ = sections(path.read_text(encoding="utf-8"))
    header = re.sub(r"\)( consumes| : \()", r", said_901: bool)\1", header, count=1)
    prog = program(header, before.replace("{", '{ let (ok_900: bool) = assert said_901 "R0103" ("no")', 1))
    (fun,) = prog.functions
    for stm in all_stms(fun.body):
        if any(p.type.shape for p in stm.pat) and not isinstance(stm.exp, Scratch):
            given = replace(prog, functions=(replace(fun, body=_relying(fun.body, stm)),))
            if is_checked(given):
                yield str(stm.pat[0].name), given


def _relying(body: Body, on: Stm) -> Body:
    def changed(stm: Stm) -> Stm:
        if stm is on:
            return replace(stm, certs=(*stm.certs, OK))
        return replace(stm, exp=map_bodies(lambda inner: _relying(inner, on), stm.exp))

    return Body(tuple(map(changed, body.stms)), body.result)


def is_checked(prog: Prog) -> bool:
    """Whether what a program gives relies on the check of `with_checks`."""
    stms = (stm for body in remove_dead(prog).bodies for stm in all_stms(body))
    return any(isinstance(stm.exp, Assert) and stm.exp.cond == SAID for stm in stms)


def sections(text: str) -> tuple[str, str, str]:
    """Header, body before, body after."""
    head, brace, bodies = text.partition("\n{")
    before, _, after = (brace.strip() + bodies).partition("\n=>\n")
    return head.strip(), before.strip(), after.strip()


def program(header: str, body: str) -> Prog:
    """A program with one entry; parameters that begin with n, m or k are its sizes."""
    params, results = header.split(" : (")
    params = params.removeprefix("main_0 ")
    names = re.findall(r"(\w+)_\d+: ", params)
    sizes = [name for name in names if name in ("n", "m", "k")]
    said = ", ".join(f'"{name}": "" 1' for name in names[len(sizes) :])
    given = ", ".join(f'"" ({k})' for k in range(len(re.findall(r"\w+_\d+: ", results))))
    entry = f'entry "main" sizes {len(sizes)} ({said}) : ({given})'
    return parse_prog(f"next_name 1000\nfun main_0 {params} : ({results} {entry} =\n{body}")


def _body_of(prog: Prog) -> str:
    (fun,) = renumbered(prog).functions
    return show_body(fun.body)
