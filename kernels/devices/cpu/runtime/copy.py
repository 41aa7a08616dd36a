"""Elementwise copies between descriptors of arrays (`descriptors.py`), as LLVM text."""

from __future__ import annotations

from ....passes.nontemporal_stores import FAR_BYTES
from .transpose import planes_text

TILE = 16
"""Elements of a row that are copied before the next row's, where reading goes against the grain."""

LARGE = 1 << 20
"""Bytes from which several threads share a copy."""

JOB = (
    ("ptr", "unfailed"), ("i64", "t_start"), ("i64", "s_start"), ("i64", "m"), ("ptr", "sizes"), ("ptr", "tsteps"),
    ("ptr", "ssteps"), ("i64", "element"), ("i64", "past"),
)  # fmt: skip
"""A copy as workers see it: one word for each of these."""


def copy_text() -> str:
    """`soac_host_copy`, `soac_host_iota` and what they use; `$..$` of the runtime stay."""
    text = _COPIES + planes_text()
    text = text.replace("$TILE$", str(TILE)).replace("$LARGE$", str(LARGE)).replace("$STREAM$", str(FAR_BYTES))
    text = text.replace("$JOB$", _job_lines("store")).replace("$READ_JOB$", _job_lines("load"))
    return text.replace("$JOB_WORDS$", str(len(JOB))) + "".join(_elements(bits) for bits in (8, 16, 32, 64))


def _job_lines(action: str) -> str:
    """Write the words of a job, or read them."""
    lines: list[str] = []
    for k, (type_, name) in enumerate(JOB):
        lines.append(f"%{name}_word = getelementptr i64, ptr %job, i64 {k}")
        written = f"store {type_} %{name}, ptr %{name}_word"
        lines.append(written if action == "store" else f"%{name} = load {type_}, ptr %{name}_word")
    return "\n  ".join(lines)


def _elements(bits: int) -> str:
    narrow = f"%element = trunc i64 %sum to i{bits}" if bits < 64 else "%element = add i64 %sum, 0"
    return _ELEMENTS.replace("$NARROW$", narrow).replace("$B$", str(bits))


_COPIES = """
; target[..] = source[..], elementwise, of the target's sizes; the two do not overlap. Dimensions that lie one behind
; the other on both sides become one. What is large is shared out among the threads of the call.
define void @soac_host_copy(ptr %state, ptr %target, ptr %source, i64 %rank, i64 %element) {
entry:
  %sizes = alloca i64, i64 %rank
  %tsteps = alloca i64, i64 %rank
  %ssteps = alloca i64, i64 %rank
  %job = alloca [$JOB_WORDS$ x i64], align 8
  %unfailed = alloca i64, align 8
  %target_sizes = getelementptr i64, ptr %target, i64 2
  %target_strides = getelementptr i64, ptr %target_sizes, i64 %rank
  %source_sizes = getelementptr i64, ptr %source, i64 2
  %source_strides = getelementptr i64, ptr %source_sizes, i64 %rank
  %target_place = getelementptr i64, ptr %target, i64 1
  %source_place = getelementptr i64, ptr %source, i64 1
  %t_start = load i64, ptr %target_place
  %s_start = load i64, ptr %source_place
  br label %collect
collect:
  %k = phi i64 [ 0, %entry ], [ %k1, %collected ]
  %m = phi i64 [ 0, %entry ], [ %m1, %collected ]
  %bytes = phi i64 [ %element, %entry ], [ %more_bytes, %collected ]
  %more = icmp slt i64 %k, %rank
  br i1 %more, label %dimension, label %ready
dimension:
  %size_place = getelementptr i64, ptr %target_sizes, i64 %k
  %size = load i64, ptr %size_place
  %nothing = icmp sle i64 %size, 0
  br i1 %nothing, label %done, label %some
some:
  %single = icmp eq i64 %size, 1
  br i1 %single, label %collected, label %steps
steps:
  %tp = getelementptr i64, ptr %target_strides, i64 %k
  %t = load i64, ptr %tp
  %sp = getelementptr i64, ptr %source_strides, i64 %k
  %s = load i64, ptr %sp
  %first = icmp eq i64 %m, 0
  br i1 %first, label %push, label %compare
compare:
  %m0 = sub i64 %m, 1
  %last_tp = getelementptr i64, ptr %tsteps, i64 %m0
  %last_sp = getelementptr i64, ptr %ssteps, i64 %m0
  %last_t = load i64, ptr %last_tp
  %last_s = load i64, ptr %last_sp
  %t_span = mul i64 %t, %size
  %s_span = mul i64 %s, %size
  %t_joins = icmp eq i64 %t_span, %last_t
  %s_joins = icmp eq i64 %s_span, %last_s
  %joins = and i1 %t_joins, %s_joins
  br i1 %joins, label %join, label %push
join:
  %outer_place = getelementptr i64, ptr %sizes, i64 %m0
  %outer = load i64, ptr %outer_place
  %joined = mul i64 %outer, %size
  store i64 %joined, ptr %outer_place
  store i64 %t, ptr %last_tp
  store i64 %s, ptr %last_sp
  br label %collected
push:
  %new_size = getelementptr i64, ptr %sizes, i64 %m
  store i64 %size, ptr %new_size
  %new_t = getelementptr i64, ptr %tsteps, i64 %m
  store i64 %t, ptr %new_t
  %new_s = getelementptr i64, ptr %ssteps, i64 %m
  store i64 %s, ptr %new_s
  %pushed = add i64 %m, 1
  br label %collected
collected:
  %m1 = phi i64 [ %m, %some ], [ %m, %join ], [ %pushed, %push ]
  %more_bytes = mul i64 %bytes, %size
  %k1 = add i64 %k, 1
  br label %collect
ready:
  %one = icmp eq i64 %m, 0
  br i1 %one, label %element_only, label %rows
element_only:
  call void @row(i64 %t_start, i64 %s_start, i64 1, i64 %element, i64 %element, i64 %element)
  ret void
rows:
  %turned = call i1 @turned(ptr %sizes, ptr %tsteps, ptr %ssteps, i64 %m, i64 %element)
  %code = select i1 %turned, ptr @planes, ptr @part
  %count = load i64, ptr %sizes
  store i64 0, ptr %unfailed
  %exceeds = icmp uge i64 %bytes, $STREAM$
  %past = zext i1 %exceeds to i64
  $JOB$
  %large = icmp uge i64 %bytes, $LARGE$
  br i1 %large, label %share, label %alone
share:
  %threads_place = getelementptr i64, ptr %state, i64 $THREADS_WORD$
  %threads = load i64, ptr %threads_place
  %used = call i64 @llvm.smin.i64(i64 %threads, i64 %count)
  %ranges = mul i64 %used, $RANGES$
  %part = sdiv i64 %count, %ranges
  %grain = call i64 @llvm.smax.i64(i64 %part, i64 1)
  %helpers = sub i64 %used, 1
  %address = ptrtoint ptr %code to i64
  %args = ptrtoint ptr %job to i64
  %stopped = call i64 @soac_pool_run(i64 %address, i64 %args, i64 %count, i64 %grain, i64 %helpers)
  %again = icmp ne i64 %stopped, 0
  br i1 %again, label %alone, label %done
alone:
  call void %code(ptr %job, i64 0, i64 %count, i64 0)
  ret void
done:
  ret void
}

; The indices from..to of the outermost dimension: an odometer around rows. Rows are cut in tiles where reading goes
; against the grain. The first word of a job points to a 0: the pool looks for failures there.
define internal void @part(ptr %job, i64 %from, i64 %to, i64 %worker) {
entry:
  $READ_JOB$
  %counts = alloca i64, i64 %m
  %outer = sub i64 %to, %from
  %outer_t = load i64, ptr %tsteps
  %outer_s = load i64, ptr %ssteps
  %t_skip = mul i64 %from, %outer_t
  %s_skip = mul i64 %from, %outer_s
  %t_first = add i64 %t_start, %t_skip
  %s_first = add i64 %s_start, %s_skip
  br label %clear
clear:
  %k = phi i64 [ 0, %entry ], [ %k1, %clear ]
  %cleared = getelementptr i64, ptr %counts, i64 %k
  store i64 0, ptr %cleared
  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k1, %m
  br i1 %more, label %clear, label %rows
rows:
  %inner = sub i64 %m, 1
  %inner_place = getelementptr i64, ptr %sizes, i64 %inner
  %inner_size = load i64, ptr %inner_place
  %flat = icmp eq i64 %inner, 0
  %length = select i1 %flat, i64 %outer, i64 %inner_size
  %inner_tp = getelementptr i64, ptr %tsteps, i64 %inner
  %inner_t = load i64, ptr %inner_tp
  %inner_sp = getelementptr i64, ptr %ssteps, i64 %inner
  %inner_s = load i64, ptr %inner_sp
  %along = icmp eq i64 %inner_s, %element
  %same = icmp eq i64 %inner_s, 0
  %with_grain = or i1 %along, %same
  %tile = select i1 %with_grain, i64 %length, i64 $TILE$
  br label %tiles
tiles:
  %at_tile = phi i64 [ 0, %rows ], [ %next_tile, %tiled ]
  %left = sub i64 %length, %at_tile
  %over = icmp slt i64 %left, %tile
  %here = select i1 %over, i64 %left, i64 %tile
  %next_tile = add i64 %at_tile, %here
  %t_offset = mul i64 %at_tile, %inner_t
  %t_tile = add i64 %t_first, %t_offset
  %s_offset = mul i64 %at_tile, %inner_s
  %s_tile = add i64 %s_first, %s_offset
  br label %each
each:
  %at = phi i64 [ %t_tile, %tiles ], [ %t_next, %advanced ]
  %as = phi i64 [ %s_tile, %tiles ], [ %s_next, %advanced ]
  call void @row(i64 %at, i64 %as, i64 %here, i64 %inner_t, i64 %inner_s, i64 %element)
  br label %advance
advance:
  %d = phi i64 [ %inner, %each ], [ %dim, %wrap ]
  %t_now = phi i64 [ %at, %each ], [ %t_back, %wrap ]
  %s_now = phi i64 [ %as, %each ], [ %s_back, %wrap ]
  %dim = sub i64 %d, 1
  %out = icmp slt i64 %dim, 0
  br i1 %out, label %tiled, label %step
step:
  %dtp = getelementptr i64, ptr %tsteps, i64 %dim
  %dt = load i64, ptr %dtp
  %dsp = getelementptr i64, ptr %ssteps, i64 %dim
  %ds = load i64, ptr %dsp
  %count_place = getelementptr i64, ptr %counts, i64 %dim
  %count = load i64, ptr %count_place
  %count1 = add i64 %count, 1
  %t_next = add i64 %t_now, %dt
  %s_next = add i64 %s_now, %ds
  %dim_place = getelementptr i64, ptr %sizes, i64 %dim
  %whole = load i64, ptr %dim_place
  %outermost = icmp eq i64 %dim, 0
  %dim_size = select i1 %outermost, i64 %outer, i64 %whole
  %round = icmp slt i64 %count1, %dim_size
  br i1 %round, label %advanced, label %wrap
advanced:
  store i64 %count1, ptr %count_place
  br label %each
wrap:
  store i64 0, ptr %count_place
  %t_all = mul i64 %dt, %dim_size
  %t_back = sub i64 %t_next, %t_all
  %s_all = mul i64 %ds, %dim_size
  %s_back = sub i64 %s_next, %s_all
  br label %advance
tiled:
  %unfinished = icmp slt i64 %next_tile, %length
  br i1 %unfinished, label %tiles, label %done
done:
  ret void
}

; One row of n elements, steps in bytes.
define internal void @row(i64 %t, i64 %s, i64 %n, i64 %dt, i64 %ds, i64 %element) {
entry:
  %target = inttoptr i64 %t to ptr
  %source = inttoptr i64 %s to ptr
  %t_along = icmp eq i64 %dt, %element
  %s_along = icmp eq i64 %ds, %element
  %both = and i1 %t_along, %s_along
  br i1 %both, label %block, label %strided
block:
  %bytes = mul i64 %n, %element
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %source, i64 %bytes, i1 false)
  ret void
strided:
  %same = icmp eq i64 %ds, 0
  %fills = and i1 %same, %t_along
  br i1 %fills, label %fill, label %general
fill:
  switch i64 %element, label %fill8 [ i64 2, label %fill16 i64 4, label %fill32 i64 8, label %fill64 ]
fill8:
  call void @fill_8(ptr %target, ptr %source, i64 %n)
  ret void
fill16:
  call void @fill_16(ptr %target, ptr %source, i64 %n)
  ret void
fill32:
  call void @fill_32(ptr %target, ptr %source, i64 %n)
  ret void
fill64:
  call void @fill_64(ptr %target, ptr %source, i64 %n)
  ret void
general:
  switch i64 %element, label %row8 [ i64 2, label %row16 i64 4, label %row32 i64 8, label %row64 ]
row8:
  call void @row_8(ptr %target, ptr %source, i64 %n, i64 %dt, i64 %ds)
  ret void
row16:
  call void @row_16(ptr %target, ptr %source, i64 %n, i64 %dt, i64 %ds)
  ret void
row32:
  call void @row_32(ptr %target, ptr %source, i64 %n, i64 %dt, i64 %ds)
  ret void
row64:
  call void @row_64(ptr %target, ptr %source, i64 %n, i64 %dt, i64 %ds)
  ret void
}

; The dense array target[i] = start + i * step, modulo the width of an element.
define void @soac_host_iota(ptr %array, i64 %n, i64 %start, i64 %step, i64 %element) {
entry:
  %place = getelementptr i64, ptr %array, i64 1
  %target = load ptr, ptr %place
  switch i64 %element, label %iota8 [ i64 2, label %iota16 i64 4, label %iota32 i64 8, label %iota64 ]
iota8:
  call void @iota_8(ptr %target, i64 %n, i64 %start, i64 %step)
  ret void
iota16:
  call void @iota_16(ptr %target, i64 %n, i64 %start, i64 %step)
  ret void
iota32:
  call void @iota_32(ptr %target, i64 %n, i64 %start, i64 %step)
  ret void
iota64:
  call void @iota_64(ptr %target, i64 %n, i64 %start, i64 %step)
  ret void
}
"""

_ELEMENTS = """
define internal void @fill_$B$(ptr noalias %target, ptr noalias %source, i64 %n) {
entry:
  %value = load i$B$, ptr %source, align 1
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %k1, %go ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %go, label %done
go:
  %place = getelementptr i$B$, ptr %target, i64 %k
  store i$B$ %value, ptr %place, align 1
  %k1 = add i64 %k, 1
  br label %each
done:
  ret void
}

define internal void @row_$B$(ptr noalias %target, ptr noalias %source, i64 %n, i64 %dt, i64 %ds) {
entry:
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %k1, %go ]
  %t = phi ptr [ %target, %entry ], [ %t1, %go ]
  %s = phi ptr [ %source, %entry ], [ %s1, %go ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %go, label %done
go:
  %value = load i$B$, ptr %s, align 1
  store i$B$ %value, ptr %t, align 1
  %t1 = getelementptr i8, ptr %t, i64 %dt
  %s1 = getelementptr i8, ptr %s, i64 %ds
  %k1 = add i64 %k, 1
  br label %each
done:
  ret void
}

define internal void @iota_$B$(ptr %target, i64 %n, i64 %start, i64 %step) {
entry:
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %k1, %go ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %go, label %done
go:
  %product = mul i64 %k, %step
  %sum = add i64 %product, %start
  $NARROW$
  %place = getelementptr i$B$, ptr %target, i64 %k
  store i$B$ %element, ptr %place, align 1
  %k1 = add i64 %k, 1
  br label %each
done:
  ret void
}
"""
