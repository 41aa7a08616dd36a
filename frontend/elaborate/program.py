"""Typed syntax to core: a staged evaluation of the program.

Functions, tuples, records, modules and size parameters are values of the elaborator (`values.py`) and are computed
away; scalars and arrays are atoms of the core, and what happens to them becomes core statements
(`state.py`). The evaluator proper is `expressions.py`. Only entry points and what they reach are
elaborated; errors in the rest have been found by inference.
"""

from __future__ import annotations

from collections import Counter

from ...ir.core import Body, FunDef, Prog, Stm
from ...ir.lambda_lifting import lifted
from ...ir.traverse import called_functions, needed_functions
from ..source.declarations import Module
from ..source.names import names_in
from ..source.types import Typed
from .calls import apply
from .entry_points import entry_function
from .expressions import evaluate
from .modules import declare_files
from .scalars import builtin_operators
from .state import Stage
from .values import empty_env


def elaborate(modules: tuple[Module, ...], typed: Typed, trusted: bool = True) -> Prog:
    """The core of a program: its files in dependency order, the prelude first and the root file last. `#[unsafe]`
    counts in the prelude, and in programs that are `trusted`."""
    st = Stage(typed, {module.file: module.text for module in modules}, modules[0].file if len(modules) > 1 else "")
    if not trusted and modules:
        st.distrusted = modules[0].next_id
    st.evaluate = lambda exp, env, hint: evaluate(st, exp, env, hint)
    st.apply = lambda function, args, loc, hint: apply(st, function, args, loc, hint)
    st.counts = _mentions(modules[-1 if len(modules) == 1 else 1 :])
    env = empty_env()
    env.values.update(builtin_operators())
    scope = declare_files(st, modules, env)
    entries = [entry_function(st, dec, home) for dec, home in scope.entries]
    consts = tuple(st.globals.stms)
    return lifted(Prog(consts, _reached(st.functions, consts, entries), st.names.next), lambda _: True)


def _reached(functions: list[FunDef], consts: tuple[Stm, ...], entries: list[FunDef]) -> tuple[FunDef, ...]:
    """The entries and the functions that they and the constants call, callees first."""
    bodies = (Body(consts, ()), *[fun.body for fun in entries])
    wanted = needed_functions(functions, [name for body in bodies for name in called_functions(body)])
    return (*[fun for fun in functions if fun.name in wanted], *entries)


def _mentions(modules: tuple[Module, ...]) -> dict[str, int]:
    """How often each name occurs in the expressions of the program."""
    return Counter(name[-1] for module in modules for name in names_in(module.decs))
