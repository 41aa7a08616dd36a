"""Copies of arrays whose rows are the columns of what is read, as LLVM text: planes, in tiles of lines of the cache.

    target[.., r, c] = source at r * element + c * step          the source is contiguous in r, the target in c

A tile is as many elements each way as a line of 64 bytes holds: it is read in whole lines, transposed in registers,
and written in whole lines, so that it does not matter which of them fall into the same set of the cache, as columns of
a matrix whose sides are powers of two do. `log2 n` times, vectors i and i + n/2 are interleaved:

    v(2i), v(2i + 1) = the lower, the upper half of  v(i)[0] v(i + n/2)[0] v(i)[1] v(i + n/2)[1] ..

A result that no cache holds is written past the caches: what is not read again need not be read before it is written.
Planes with a side shorter than a tile are copied by rows (`copy.py`).
"""

from __future__ import annotations

LINE = 64
"""Bytes of a line of the cache."""

BAND = 128
"""Elements of the rows of the target, at least a tile's, that are done for all rows before the next ones."""

AHEAD = 2
"""Tiles that the lines of the source are fetched ahead: no stride of a processor's own guesses is that long."""

TYPES = (8, 16, 32, 64)


def planes_text() -> str:
    """`planes`, a job of the pool like `part` in `copy.py`; `$..$` of the copies stay."""
    return _PLANES + "".join(_plane(bits) for bits in TYPES)


def _plane(bits: int) -> str:
    side = LINE * 8 // bits
    constants = {"B": bits, "SIDE": side, "BAND": max(side, BAND), "VECTOR": f"<{side} x i{bits}>"}
    text = _PLANE
    for name, value in constants.items():
        text = text.replace(f"${name}$", str(value))
    return _tile(bits, side) + text


def _tile(bits: int, side: int) -> str:
    """A tile of `source`, transposed, as lines one behind the other."""
    vector = f"<{side} x i{bits}>"
    lines = [f"define internal void @tile_{bits}(ptr noalias %lines, ptr noalias %source, i64 %ds) {{"]
    names: list[str] = []
    for k in range(side):
        lines += [
            f"  %o{k} = mul i64 %ds, {k}",
            f"  %s{k} = getelementptr i8, ptr %source, i64 %o{k}",
            f"  %v{k} = load {vector}, ptr %s{k}, align 1",
            f"  %a{k} = getelementptr i8, ptr %s{k}, i64 {AHEAD * LINE}",
            f"  call void @llvm.prefetch.p0(ptr %a{k}, i32 0, i32 3, i32 1)",
        ]
        names.append(f"%v{k}")
    for stage in range(side.bit_length() - 1):
        names = _interleaved(lines, names, vector, stage)
    for k in range(side):
        lines += [
            f"  %t{k} = getelementptr {vector}, ptr %lines, i64 {k}",
            f"  store {vector} {names[k]}, ptr %t{k}, align {LINE}",
        ]
    return "\n".join([*lines, "  ret void", "}", ""])


def _interleaved(lines: list[str], names: list[str], vector: str, stage: int) -> list[str]:
    """One round of the transposition; appends its instructions."""
    n, made = len(names), []
    for half in range(2):
        picked = [f"i32 {k // 2 + (k % 2) * n}" for k in range(half * n, half * n + n)]
        for k in range(n // 2):
            name = f"%x{stage}_{k}_{half}"
            mask = f"<{n} x i32> <{', '.join(picked)}>"
            lines.append(f"  {name} = shufflevector {vector} {names[k]}, {vector} {names[k + n // 2]}, {mask}")
    for k in range(n // 2):
        made += [f"%x{stage}_{k}_0", f"%x{stage}_{k}_1"]
    return made


_PLANES = """
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
; Is the source contiguous along another dimension than the target, both long enough for a tile? Then that one becomes
; the last but one.
define internal i1 @turned(ptr %sizes, ptr %tsteps, ptr %ssteps, i64 %m, i64 %element) {
entry:
  %few = icmp slt i64 %m, 2
  br i1 %few, label %no, label %look
look:
  %inner = sub i64 %m, 1
  %before = sub i64 %m, 2
  %side = udiv i64 64, %element
  %inner_t = call i64 @word(ptr %tsteps, i64 %inner)
  %inner_s = call i64 @word(ptr %ssteps, i64 %inner)
  %inner_n = call i64 @word(ptr %sizes, i64 %inner)
  %dense = icmp eq i64 %inner_t, %element
  %along = icmp eq i64 %inner_s, %element
  %across = xor i1 %along, true
  %long = icmp sge i64 %inner_n, %side
  %fits = and i1 %dense, %across
  %fine = and i1 %fits, %long
  br i1 %fine, label %each, label %no
each:
  %k = phi i64 [ 0, %look ], [ %k1, %next ]
  %more = icmp slt i64 %k, %inner
  br i1 %more, label %go, label %no
go:
  %s = call i64 @word(ptr %ssteps, i64 %k)
  %n = call i64 @word(ptr %sizes, i64 %k)
  %contiguous = icmp eq i64 %s, %element
  %enough = icmp sge i64 %n, %side
  %found = and i1 %contiguous, %enough
  br i1 %found, label %swap, label %next
next:
  %k1 = add i64 %k, 1
  br label %each
swap:
  call void @swap(ptr %sizes, i64 %k, i64 %before)
  call void @swap(ptr %tsteps, i64 %k, i64 %before)
  call void @swap(ptr %ssteps, i64 %k, i64 %before)
  ret i1 true
no:
  ret i1 false
}

define internal void @swap(ptr %table, i64 %i, i64 %j) {
  %p = getelementptr i64, ptr %table, i64 %i
  %q = getelementptr i64, ptr %table, i64 %j
  %x = load i64, ptr %p
  %y = load i64, ptr %q
  store i64 %y, ptr %p
  store i64 %x, ptr %q
  ret void
}

; The indices from..to of the outermost dimension: plane after plane; if that is a dimension of the plane, its rows.
define internal void @planes(ptr %job, i64 %from, i64 %to, i64 %worker) {
entry:
  $READ_JOB$
  %side = udiv i64 64, %element
  %outer = sub i64 %to, %from
  %outer_t = load i64, ptr %tsteps
  %outer_s = load i64, ptr %ssteps
  %t_skip = mul i64 %from, %outer_t
  %s_skip = mul i64 %from, %outer_s
  %t_first = add i64 %t_start, %t_skip
  %s_first = add i64 %s_start, %s_skip
  %inner = sub i64 %m, 1
  %before = sub i64 %m, 2
  %columns = call i64 @word(ptr %sizes, i64 %inner)
  %all_rows = call i64 @word(ptr %sizes, i64 %before)
  %dt = call i64 @word(ptr %tsteps, i64 %before)
  %ds = call i64 @word(ptr %ssteps, i64 %inner)
  %flat = icmp eq i64 %before, 0
  %rows = select i1 %flat, i64 %outer, i64 %all_rows
  %outermost = select i1 %flat, i64 1, i64 %outer
  br label %count
count:
  %c = phi i64 [ 1, %entry ], [ %c1, %counting ]
  %planes = phi i64 [ %outermost, %entry ], [ %more_planes, %counting ]
  %more = icmp slt i64 %c, %before
  br i1 %more, label %counting, label %each
counting:
  %n = call i64 @word(ptr %sizes, i64 %c)
  %more_planes = mul i64 %planes, %n
  %c1 = add i64 %c, 1
  br label %count
each:
  %k = phi i64 [ 0, %count ], [ %k1, %done ]
  %left = icmp slt i64 %k, %planes
  br i1 %left, label %locate, label %end
locate:
  %d = phi i64 [ %before, %each ], [ %d1, %dimension ]
  %rest = phi i64 [ %k, %each ], [ %quotient, %dimension ]
  %t = phi i64 [ %t_first, %each ], [ %t1, %dimension ]
  %s = phi i64 [ %s_first, %each ], [ %s1, %dimension ]
  %d1 = sub i64 %d, 1
  %in = icmp sgt i64 %d, 0
  br i1 %in, label %dimension, label %do
dimension:
  %whole = call i64 @word(ptr %sizes, i64 %d1)
  %tstep = call i64 @word(ptr %tsteps, i64 %d1)
  %sstep = call i64 @word(ptr %ssteps, i64 %d1)
  %first_one = icmp eq i64 %d1, 0
  %size = select i1 %first_one, i64 %outer, i64 %whole
  %quotient = udiv i64 %rest, %size
  %index = urem i64 %rest, %size
  %t_by = mul i64 %index, %tstep
  %s_by = mul i64 %index, %sstep
  %t1 = add i64 %t, %t_by
  %s1 = add i64 %s, %s_by
  br label %locate
do:
  switch i64 %element, label %plane8 [ i64 2, label %plane16 i64 4, label %plane32 i64 8, label %plane64 ]
plane8:
  call void @plane_8(i64 %t, i64 %s, i64 %rows, i64 %columns, i64 %dt, i64 %ds, i64 %past)
  br label %done
plane16:
  call void @plane_16(i64 %t, i64 %s, i64 %rows, i64 %columns, i64 %dt, i64 %ds, i64 %past)
  br label %done
plane32:
  call void @plane_32(i64 %t, i64 %s, i64 %rows, i64 %columns, i64 %dt, i64 %ds, i64 %past)
  br label %done
plane64:
  call void @plane_64(i64 %t, i64 %s, i64 %rows, i64 %columns, i64 %dt, i64 %ds, i64 %past)
  br label %done
done:
  %k1 = add i64 %k, 1
  br label %each
end:
  fence seq_cst
  ret void
}
"""

_PLANE = """
; A plane: tiles, in bands of some columns of tiles. The last ones reach back over those before, where the sides are no
; multiples of a tile's.
define internal void @plane_$B$(i64 %t, i64 %s, i64 %rows, i64 %columns, i64 %dt, i64 %ds, i64 %past) {
entry:
  %lines = alloca [$SIDE$ x $VECTOR$], align 64
  %element = udiv i64 $B$, 8
  %last_row = sub i64 %rows, $SIDE$
  %last_column = sub i64 %columns, $SIDE$
  %both = or i64 %t, %dt
  %odd = and i64 %both, 63
  %aligned = icmp eq i64 %odd, 0
  %wanted = icmp ne i64 %past, 0
  %stream = and i1 %aligned, %wanted
  %thin = icmp slt i64 %last_row, 0
  br i1 %thin, label %rest, label %bands
bands:
  %band = phi i64 [ 0, %entry ], [ %band_end, %downs_over ]
  %more_bands = icmp slt i64 %band, %columns
  br i1 %more_bands, label %in_band, label %done
in_band:
  %far = add i64 %band, $BAND$
  %band_end = call i64 @llvm.smin.i64(i64 %far, i64 %columns)
  br label %downs
downs:
  %r = phi i64 [ 0, %in_band ], [ %r1, %across ]
  %more_rows = icmp slt i64 %r, %rows
  br i1 %more_rows, label %down, label %downs_over
downs_over:
  br label %bands
down:
  %r_at = call i64 @llvm.smin.i64(i64 %r, i64 %last_row)
  %t_rows = mul i64 %r_at, %dt
  %s_rows = mul i64 %r_at, %element
  %t_row = add i64 %t, %t_rows
  %s_row = add i64 %s, %s_rows
  br label %tiles
tiles:
  %c = phi i64 [ %band, %down ], [ %c1, %tiled ]
  %more = icmp slt i64 %c, %band_end
  br i1 %more, label %tile, label %across
tile:
  %c_at = call i64 @llvm.smin.i64(i64 %c, i64 %last_column)
  %t_columns = mul i64 %c_at, %element
  %s_columns = mul i64 %c_at, %ds
  %t_at = add i64 %t_row, %t_columns
  %s_at = add i64 %s_row, %s_columns
  %source = inttoptr i64 %s_at to ptr
  %whole = icmp eq i64 %c, %c_at
  %streams = and i1 %stream, %whole
  call void @tile_$B$(ptr %lines, ptr %source, i64 %ds)
  br i1 %streams, label %stream_line, label %near_line
stream_line:
  %i = phi i64 [ 0, %tile ], [ %i1, %stream_line ]
  %i_line = getelementptr $VECTOR$, ptr %lines, i64 %i
  %i_value = load $VECTOR$, ptr %i_line, align 64
  %i_by = mul i64 %i, %dt
  %i_at = add i64 %t_at, %i_by
  %i_place = inttoptr i64 %i_at to ptr
  store $VECTOR$ %i_value, ptr %i_place, align 64, !nontemporal !{i32 1}
  %i1 = add i64 %i, 1
  %i_more = icmp slt i64 %i1, $SIDE$
  br i1 %i_more, label %stream_line, label %tiled
near_line:
  %j = phi i64 [ 0, %tile ], [ %j1, %near_line ]
  %j_line = getelementptr $VECTOR$, ptr %lines, i64 %j
  %j_value = load $VECTOR$, ptr %j_line, align 64
  %j_by = mul i64 %j, %dt
  %j_at = add i64 %t_at, %j_by
  %j_place = inttoptr i64 %j_at to ptr
  store $VECTOR$ %j_value, ptr %j_place, align 1
  %j1 = add i64 %j, 1
  %j_more = icmp slt i64 %j1, $SIDE$
  br i1 %j_more, label %near_line, label %tiled
tiled:
  %c1 = add i64 %c, $SIDE$
  br label %tiles
across:
  %r1 = add i64 %r, $SIDE$
  br label %downs
rest:
  %q = phi i64 [ 0, %entry ], [ %q1, %row ]
  %more_rest = icmp slt i64 %q, %rows
  br i1 %more_rest, label %row, label %done
row:
  %q_t_by = mul i64 %q, %dt
  %q_s_by = mul i64 %q, %element
  %q_t = add i64 %t, %q_t_by
  %q_s = add i64 %s, %q_s_by
  call void @row(i64 %q_t, i64 %q_s, i64 %columns, i64 %element, i64 %ds, i64 %element)
  %q1 = add i64 %q, 1
  br label %rest
done:
  ret void
}
"""
