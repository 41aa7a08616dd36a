"""The textual form of each statement of kernel IR: a table that `show.py` writes by and `parse.py` reads by.

`$field:kind` stands for a field; without a kind it is an operand. Kinds:

    made mades          variables that the statement makes, with types
    index               one, without its type if that is i64
    variable            a variable that there is
    operands list       several operands, in parentheses or without them
    array arrays new    arrays that there are; one that is allocated
    stms lambda         statements; an operator
    else step           what may be left out
    flag hint order     what has a default value, which is left out
    int rhs operation what how unit role length free
"""

from __future__ import annotations

from collections.abc import Mapping

from ...ir.syntax import Form, forms
from . import nodes as kir

HINTS: Mapping[str, str] = {"align": "align", "unroll": "unroll", "row": "by", "count": "of"}
"""The word before a number that is usually 1, by its field."""

_COLLECTIVE = "  $body:stms\n  values $values:list\n  op $op:lambda\n"

FORMS: tuple[tuple[type, str], ...] = (
    (kir.Declare, "var $var:made = $init"),
    (kir.Assign, "$var:variable := $value"),
    (kir.Distribute, "$array:new[$threads:int][$count:int]$length:length$role:role"),
    (kir.Mma, "mma $sum:array[$to ..] += $left:array[$at ..] * $right:array[$start ..]"),
    (kir.Alloc, "$array:new[$count]$align:hint"),
    (kir.AsyncCopy, "$target:array[$at] := later $source:array[$start]$count:hint"),
    (kir.Shuffle, "$target:array := shuffle $source:array $op:operation $by"),
    (kir.StoreRow, "$array:array[$index ..] := $values:operands"),
    (kir.Store, "$array:array[$index] := $value$repeats:flag"),
    (kir.LoadMatrix, "let $vars:mades = matrices $array:array[$index + $offsets:operands] rows $row$across:flag"),
    (kir.LoadRow, "let $vars:mades = $array:array[$index ..]"),
    (kir.Atomic, "let $out:made = atomic $op:operation $array:array[$index] $value$order:order"),
    (kir.Atomic, "atomic $op:operation $array:array[$index] $value$order:order"),
    (kir.WaitFor, "let $out:made = wait $array:array[$index] >= $least"),
    (kir.KLet, "let $var:made = $rhs:rhs"),
    (kir.BoundsCheck, "check 0 <= $index < $size else #$site:int$values:operands"),
    (kir.Check, "check $ok else #$site:int$values:operands"),
    (kir.KIf, "if $cond {\n  $then:stms\n}$orelse:else"),
    (kir.For, "for $index:index < $bound$unroll:hint {\n  $body:stms\n}"),
    (kir.KWhile, "while {\n  $before:stms\n} $cond {\n  $body:stms\n}"),
    (kir.Threads, "threads $index:index in $lo..$hi$unit:unit$row:hint {\n  $body:stms\n}"),
    (
        kir.PeeledThreads,
        "peeled threads $index:index in $lo..$hi {\n  $body:stms\n  from $since to $until\n  $middle:stms\n}",
    ),
    (
        kir.BlockReduce,
        "reduce $commutative:how$is_long:flag $outs:mades from $neutral:operands over"
        " $index:index in $lo..$hi {\n" + _COLLECTIVE + "  $step:step\n}",
    ),
    (
        kir.RowScan,
        "scan $scanned:mades in rows of $width neutral $neutral:operands over $index:index < $count {\n"
        + _COLLECTIVE + "  after\n  $after:stms\n}",
    ),
    (
        kir.BlockScan,
        "scan $scanned:mades carry $carry_out:mades from $carry:operands neutral $neutral:operands$is_long:flag over"
        " $index:index in $lo..$hi$free:free {\n" + _COLLECTIVE + "  after\n  $after:stms\n}",
    ),
    (
        kir.TeamReduce,
        "teams of $team $segment:index in $lo..$hi reduce $commutative:how $outs:mades from $neutral:operands over"
        " $index:index < $width {\n" + _COLLECTIVE + "  after\n  $after:stms\n}",
    ),
    (
        kir.WarpTurns,
        "warp $warp:index threads $index:index in $lo..$hi {\n  $body:stms\n  turns by $key\n  $turn:stms\n}",
    ),
    (
        kir.LookBack,
        "look_back $outs:mades from $neutral:operands along $words:array over $first..$tile with $own:operands"
        " {\n  op $op:lambda\n}",
    ),
    (kir.Fence, "fence"),
    (kir.Publish, "publish $array:array[$index] $value"),
    (kir.CommitCopies, "commit copies"),
    (kir.WaitCopies, "wait for copies but $latest:int"),
    (kir.LoadTile, "load $tile:array[0..$count] := $array:array[$start + $row:variable*$pitch ..]"),
    (kir.StoreSome, "store $array:array[$index ..] := $values:operands where $keeps:operands"),
    (kir.StoreTile, "store $array:array[$start + $row:variable*$pitch ..] := $tile:array[0..$count]"),
    (kir.Note, "note $what:what"),
)  # fmt: skip

SYNTAX = forms(FORMS)
BY_NODE: Mapping[type, tuple[Form, ...]] = {
    node: tuple(form for form in SYNTAX if form.node is node) for node in {form.node for form in SYNTAX}
}
