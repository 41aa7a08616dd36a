"""Application: calls, infix operators, sections, names used as functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...ir.errors import CompileError, Label, Loc
from ...ir.records import dataclass
from ...ir.types import Prim
from ..source import syntax as s
from ..source.atoms import Ident, Lit, Operator, Qual, StringLit
from ..source.types import BOOL, Size, SizeVar, TArray, TFun, TVar, Ty, arrow
from .constraints import BITS, INTS, NUMBERS, SCALARS, Need, needs_equality, needs_prim
from .errors import fault, unknown
from .literals import literal_type
from .recursion import later_binding
from .scope import Binding, ModuleBinding, numeric_module
from .show import Shower
from .size_expressions import extent
from .sizes import SizeClash
from .state import Work
from .unify import Clash


@dataclass(frozen=True, slots=True)
class Builtin:
    """An overloaded operator `a -> a -> a` (or `bool`): the scalar types it takes, None for what can be compared."""

    prims: frozenset[Prim] | None
    gives_bool: bool


ARITHMETIC, INTEGRAL, BITWISE = Builtin(NUMBERS, False), Builtin(INTS, False), Builtin(BITS, False)
ORDER, EQUALITY, LOGIC = Builtin(SCALARS, True), Builtin(None, True), Builtin(frozenset({Prim.BOOL}), True)
CLASSES = {
    ("+", "-", "*", "/", "%", "**"): ARITHMETIC,
    ("//", "%%", "<<", ">>", ">>>"): INTEGRAL,
    ("&", "|", "^"): BITWISE,
    ("<", "<=", ">", ">="): ORDER,
    ("==", "!="): EQUALITY,
    ("&&", "||"): LOGIC,
}
BUILTINS = {name: builtin for names, builtin in CLASSES.items() for name in names}

# Where a reduction's operator stands among its arguments, for E0208.
OPERATOR_ARGUMENT = {
    "reduce": 0, "reduce_comm": 0, "scan": 0, "exscan": 0, "redomap": 0, "scanomap": 0, "hist": 0,
    "reduce_by_index": 1, "reduce_by_index_2d": 1, "reduce_by_index_3d": 1,
}  # fmt: skip


# ---- names ----------------------------------------------------------------------------------------------------------


def infer_ident(work: Work, exp: Ident, project: Callable[[Work, Ty, str, Loc], Ty]) -> Ty:
    """A name; components after those that name the value are projections."""
    if (builtin := _builtin(work, exp.name)) is not None:
        work.pending.resolved[exp.id] = 1
        return work.record(exp.id, _builtin_type(work, builtin, exp.name[-1], exp.loc))
    binding, count = look_up(work, exp.name, exp.loc)
    ty = work.use(exp.id, ".".join(exp.name[:count]), binding, exp.loc)
    if binding.is_recursive and isinstance(binding.size, SizeVar):
        work.pending.recursive[exp.id] = binding.size.id
    work.pending.resolved[exp.id] = count
    for field in exp.name[count:]:
        ty = project(work, ty, field, exp.loc)
    return work.record(exp.id, ty)


def look_up(work: Work, name: Qual, loc: Loc) -> tuple[Binding, int]:
    """The value that a name leads to, and how many components name it; E0201."""
    found = work.scope.find_value(name)
    if found is None and (later := later_binding(work, name[0], loc)) is not None:
        found = later, 1
    if found is None:
        raise unknown_name(work, name, loc)
    last = name[found[1] - 1]
    if last.startswith("_") and not last.startswith("__"):
        message = f"`{last}` begins with an underscore, so it cannot be used"
        raise fault("E0201", message, loc, "used here", hint="it says that a value is not needed: leave it out")
    work.uses[loc] = found[0].loc
    return found


def unknown_name(work: Work, name: Qual, loc: Loc) -> CompileError:
    """E0201 with the nearest name in scope, or the numeric modules that have it."""
    scope = work.scope
    first, *rest = name
    if rest and isinstance(module := scope.module(first), ModuleBinding):
        return unknown("E0201", "name", ".".join(name), loc, [f"{first}.{n}" for n in module.values])
    if first in work.defining:
        message = f"`{first}` is not in scope of its own definition"
        hint = "only a function at the top of a file or module may call itself"
        return fault("E0206", message, loc, "used here", hint=hint)
    if first in work.later:
        return _defined_later(work, first, loc)
    homes = [f"`{m}.{first}`" for m in ("f32", "f64", "i32", "i64") if first in numeric_module(Prim(m)).values]
    if homes:
        return fault("E0201", f"unknown name `{first}`", loc, "not found", hint=f"there are {' and '.join(homes[:2])}")
    return unknown("E0201", "name", first, loc, scope.values)


def _defined_later(work: Work, name: str, loc: Loc) -> CompileError:
    label = Label(work.later[name].name_loc, "it is defined here")
    return fault("E0201", f"unknown name `{name}`", loc, "not in scope yet", [label], hint="move the definition up")


def _builtin(work: Work, name: Qual) -> Builtin | None:
    return BUILTINS.get(name[-1]) if len(name) == 1 and name[-1] not in work.scope.values else None


def _builtin_type(work: Work, builtin: Builtin, name: str, loc: Loc) -> Ty:
    operand = work.solver.unknown_with(_need(builtin, name, loc))
    _note_compared(work, builtin, operand, name, loc)
    return arrow(operand, arrow(operand, BOOL if builtin.gives_bool else operand))


def _need(builtin: Builtin, name: str, loc: Loc) -> Need:
    why = f"an operand of `{name}`"
    return needs_equality(loc, why) if builtin.prims is None else needs_prim(builtin.prims, loc, why)


def _note_compared(work: Work, builtin: Builtin, operand: Ty, name: str, loc: Loc) -> None:
    if builtin is EQUALITY:
        work.pending.compared.append((operand, name, loc))


# ---- calls ----------------------------------------------------------------------------------------------------------


def infer_call(work: Work, exp: s.Call) -> Ty:
    """`f x y z`, argument by argument."""
    whole = work.exp(exp.function)
    ty, types = whole, []
    for at, arg in enumerate(exp.args):
        arg_type = work.exp(arg)
        types.append(arg_type)

        def fail(clash: Exception, fun: TFun) -> CompileError:
            return _argument_error(work, exp, at, whole, types, clash, fun)  # noqa: B023

        result = apply_type(work, ty, arg_type, arg, (exp.id, exp.loc), fail)
        if result is None:
            raise _too_many(work, exp, at, whole, ty)
        ty = result
    return work.record(exp.id, ty)


def _too_many(work: Work, exp: s.Call, at: int, whole: Ty, rest: Ty) -> CompileError:
    if at == 0:
        return _no_function(work, exp, whole)
    name, shower = _called(exp.function), Shower(work.solver)
    message = f"{name} takes {at} argument{'s' * (at > 1)}, found {len(exp.args)}"
    label = f"what it is applied to is a `{shower.type(rest)}`"
    note = f"{name} has type `{shower.type(whole)}`"
    return fault("E0213", message, exp.args[at].loc, label, (), [note])


def _no_function(work: Work, exp: s.Call, whole: Ty) -> CompileError:
    """E0213 for what is applied; where it looks like an index, with how to write one."""
    message = f"{_called(exp.function) if isinstance(exp.function, Ident) else 'this'} is not a function"
    hint = None
    if isinstance(exp.args[0], s.Array) and isinstance(work.solver.resolve(whole), TArray):
        is_string = isinstance(exp.function, StringLit)
        hint = 'to index a string, write `("..")[i]`' if is_string else "an index has no blank before it: `xs[i]`"
    return fault("E0213", message, exp.function.loc, f"this is `{Shower(work.solver).type(whole)}`", hint=hint)


def _argument_error(
    work: Work, exp: s.Call, at: int, whole: Ty, types: list[Ty], clash: Exception, fun: TFun
) -> CompileError:
    """E0202, E0203 or E0208: argument `at` does not fit, with the function's type beside the types found; E0213 where
    a number is applied."""
    if isinstance(exp.function, Lit):
        return _no_function(work, exp, whole)
    name, arg, found = _called(exp.function), exp.args[at], types[at]
    shower = Shower(work.solver)
    others = [
        Label(a.loc, f"argument {i + 1} is `{shower.type(t)}`") for i, (a, t) in enumerate(zip(exp.args, types[:at]))
    ]
    what = f"argument {at + 1} of {name}"
    if isinstance(clash, SizeClash):
        arrays = [o for o, t in zip(others, types) if isinstance(work.solver.resolve(t), TArray)]
        return work.size_mismatch(fun.dom, found, clash, arg.loc, what, arrays)
    assert isinstance(clash, Clash)
    error = work.mismatch(fun.dom, found, clash, arg.loc, what, others)
    declared = _declared(work, exp.function)
    note = f"{name} has type `{declared or shower.type(whole)}`"
    diagnostic = error.diagnostics[0]
    if _is_operator(work, exp.function, at):
        text = f"the operator of {name} must be `a -> a -> a`, found `{shower.type(found)}`"
        return fault("E0208", text, arg.loc, diagnostic.primary.text, (), [note, *diagnostic.notes])
    return CompileError(replace(diagnostic, notes=(note, *diagnostic.notes)))


def _is_operator(work: Work, function: s.Exp, at: int) -> bool:
    if not isinstance(function, Ident) or OPERATOR_ARGUMENT.get(function.name[0]) != at:
        return False
    return work.scope.values[function.name[0]].is_prelude


def _declared(work: Work, function: s.Exp) -> str | None:
    """The type of a named function as declared, rather than as far as it is already determined here."""
    if not isinstance(function, Ident):
        return None
    found = work.scope.find_value(function.name)
    return Shower(work.solver).type(found[0].scheme.type) if found and found[1] == len(function.name) else None


def _called(function: s.Exp) -> str:
    return f"`{'.'.join(function.name)}`" if isinstance(function, Ident) else "this function"


# ---- operators ------------------------------------------------------------------------------------------------------


def infer_chain(work: Work, exp: s.Chain) -> Ty:
    """`a + b - c`: from left to right, whatever the length."""
    left_exp: s.Exp | None = exp.first
    left = work.exp(exp.first)
    left_loc = exp.first.loc
    for op, right_exp in exp.rest:
        right = work.exp(right_exp)
        builtin = None if op.backtick else _builtin(work, op.name)
        if builtin is not None:
            left = _apply_builtin(work, op, builtin, (left, left_loc), (right, right_exp.loc))
        else:
            here = _span(left_loc, right_exp.loc)
            left = _apply_operator(work, op, (left, left_exp, left_loc), (right, right_exp, right_exp.loc), here)
        left_exp, left_loc = None, _span(left_loc, right_exp.loc)
    return work.record(exp.id, left)


def _span(a: Loc, b: Loc) -> Loc:
    return Loc(a.file, a.line, a.col, b.end_line, b.end_col)


def _apply_builtin(work: Work, op: Operator, builtin: Builtin, left: tuple[Ty, Loc], right: tuple[Ty, Loc]) -> Ty:
    (a, a_loc), (b, b_loc) = left, right
    name = op.name[-1]
    if builtin is LOGIC:
        work.expect(BOOL, a, a_loc, f"left operand of `{name}`")
        work.expect(BOOL, b, b_loc, f"right operand of `{name}`")
        a = BOOL
    else:
        work.ask(a, _need(builtin, name, a_loc))
        _note_compared(work, builtin, a, name, op.loc)
        work.expect(a, b, b_loc, f"right operand of `{name}`", [Label(a_loc, f"the left one is `{work.show(a)}`")])
    result = BOOL if builtin.gives_bool else a
    work.record(op.id, arrow(a, arrow(a, result)))
    return result


_Operand = tuple[Ty, s.Exp | None, Loc]


def _apply_operator(work: Work, op: Operator, left: _Operand, right: _Operand, loc: Loc) -> Ty:
    """An operator that is a function in scope: the prelude's, the user's, a module's, or a name in backticks."""
    at = (op.id, loc)
    result = _applied(work, op, _applied(work, op, operator_type(work, op), left, 0, at), right, 1, at)
    work.pending.results[op.id] = result
    return result


def operator_type(work: Work, op: Operator) -> Ty:
    """The type of an operator as a function."""
    builtin = None if op.backtick else _builtin(work, op.name)
    if builtin is not None:
        return work.record(op.id, _builtin_type(work, builtin, op.name[-1], op.loc))
    found = work.scope.find_value(op.name)
    if found is None or found[1] != len(op.name):
        what = "name" if op.backtick else "operator"
        raise unknown("E0201", what, ".".join(op.name), op.loc, [*work.scope.values, *BUILTINS])
    work.uses[op.loc] = found[0].loc
    return work.record(op.id, work.use(op.id, ".".join(op.name), found[0], op.loc))


def _applied(work: Work, op: Operator, fun: Ty, operand: _Operand, side: int, at: tuple[int, Loc]) -> Ty:
    ty, exp, loc = operand
    what = f"{('left', 'right')[side]} operand of `{'.'.join(op.name)}`"

    def fail(clash: Exception, found: TFun) -> CompileError:
        if isinstance(clash, SizeClash):
            return work.size_mismatch(found.dom, ty, clash, loc, what, ())
        assert isinstance(clash, Clash)
        error = work.mismatch(found.dom, ty, clash, loc, what, ())
        declared = _declared(work, Ident(op.id, op.name, op.loc))
        diagnostic = error.diagnostics[0]
        notes = [*diagnostic.notes, *([f"`{'.'.join(op.name)}` has type `{declared}`"] if declared else [])]
        return fault("E0202", diagnostic.message, loc, diagnostic.primary.text, (), notes)

    result = apply_type(work, fun, ty, exp, at, fail)
    if result is None:
        raise fault("E0213", f"`{'.'.join(op.name)}` does not take two arguments", op.loc, f"it is `{work.show(fun)}`")
    return result


def infer_left_section(work: Work, exp: s.LeftSection) -> Ty:
    """`(e op)`."""
    operand = (work.exp(exp.arg), exp.arg, exp.arg.loc)
    return work.record(exp.id, _applied(work, exp.op, operator_type(work, exp.op), operand, 0, (exp.id, exp.loc)))


def infer_right_section(work: Work, exp: s.RightSection) -> Ty:
    """`(op e)`: `\\x -> x op e`. What the operator is applied to is not known yet, and the sizes that it chooses are
    chosen by the section."""
    operand, at = (work.exp(exp.arg), exp.arg, exp.arg.loc), (exp.id, exp.loc)
    ty = work.solver.resolve(operator_type(work, exp.op))
    cod = work.solver.resolve(ty.cod) if isinstance(ty, TFun) else None
    if isinstance(ty, TFun) and isinstance(cod, TFun) and ty.name is None:
        result = replace(arrow(ty.dom, cod.cod), exists=cod.exists)
        ty = replace(arrow(cod.dom, result), name=cod.name, param_id=cod.param_id)
        return work.record(exp.id, _applied(work, exp.op, ty, operand, 1, at))
    left = work.solver.unknown()
    after = _applied(work, exp.op, ty, (left, None, exp.op.loc), 0, at)
    return work.record(exp.id, arrow(left, _applied(work, exp.op, after, operand, 1, at)))


def infer_negate(work: Work, exp: s.Negate) -> Ty:
    """`-e` on numbers."""
    ty = literal_type(work, exp.arg, negative=True) if isinstance(exp.arg, Lit) else work.exp(exp.arg)
    work.ask(ty, needs_prim(NUMBERS, exp.arg.loc, "an operand of `-`"))
    return work.record(exp.id, ty)


def infer_not(work: Work, exp: s.Not) -> Ty:
    """`!e` on bools and integers."""
    ty = work.exp(exp.arg)
    work.ask(ty, needs_prim(BITS, exp.arg.loc, "an operand of `!`"))
    return work.record(exp.id, ty)


# ---- what a function gives for an argument: its type, with the sizes that it chooses -------------------------------

CHOSEN = "the size of this is known when the program runs"


Fail = Callable[[Exception, TFun], CompileError]
"""Makes the error of an argument that does not fit a function."""


def apply_type(work: Work, fun: Ty, arg_type: Ty, arg: s.Exp | None, at: tuple[int, Loc], fail: Fail) -> Ty | None:
    """The type of applying `fun`, by the expression `at`; None when it is no function; `fail` makes the error of an
    unfitting argument."""
    fun = work.solver.resolve(fun)
    match fun:
        case TVar("", _):
            result = work.solver.unknown()
            try:
                work.solver.unify(fun, arrow(arg_type, result))
            except (Clash, SizeClash) as clash:
                raise fail(clash, arrow(arg_type, result)) from None
            return result
        case TFun():
            try:
                work.solver.unify(fun.dom, arg_type)
            except (Clash, SizeClash) as clash:
                raise fail(clash, fun) from None
            return _result(work, fun, arg, at)
        case _:
            return None


def _result(work: Work, fun: TFun, arg: s.Exp | None, at: tuple[int, Loc]) -> Ty:
    """The type of a function's result, once it has its argument: sizes that name the parameter get the argument's, and
    those that the function chooses, or a function among its arguments, exist from now on."""
    solver, (node, loc) = work.solver, at
    if fun.name is None and not fun.exists and not solver.chosen:
        return fun.cod
    chosen = {k.id for k in fun.exists}
    if chosen or solver.chosen:
        shown, taken = solver.uses(fun.cod)
        _check_taken(work, fun, (taken - shown) & (chosen | solver.chosen), loc)
        chosen |= shown & solver.chosen
    sizes: dict[int, Size] = {tag: work.exists(node, loc, CHOSEN) for tag in sorted(chosen)}
    if fun.name is not None:
        sizes[fun.param_id] = work.exists(node, loc, CHOSEN) if arg is None else extent(work, arg, node)
    return solver.replace_sizes(fun.cod, sizes) if sizes else fun.cod


def _check_taken(work: Work, fun: TFun, hidden: set[int], loc: Loc) -> None:
    """E0226: a size that a function chooses must not be asked of an argument yet to come."""
    if hidden:
        message = "existential size would appear in a parameter of the function that comes back here"
        hint = "bind the argument's result with `let`, and apply the function to it"
        raise fault("E0226", message, loc, f"this is `{work.show(fun.cod)}`", hint=hint)
