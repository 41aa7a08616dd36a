; Copies between arrays, element by element, and iota: kernels of schedule/cpu/bulk_copies.py, compiled when first needed.

%Array = type { ptr, ptr, [0 x i64] }  ; buffer data sizes
%Axis = type { i64, i64, i64 }  ; size to from
%Copy = type { ptr, ptr, ptr, ptr, ptr, %Axis, %Axis, i64, i64 }  ; record arenas to from axes columns rows outer far
%Iota = type { ptr, ptr, ptr, i64, i64, i64 }  ; record arenas to count start step

; Kernels by number: copies, transposing copies, iotas and copies of points by their width, of elements of 1, 2, 4 and 8 bytes each; behind them the
; same with code of little effort. One that no call needed yet is null; `need` stores it at an address, and nothing where it cannot
; be compiled. `first` has the call that needed a kernel first, and `moved` the bytes that code of little effort has moved.
@kernels = internal global [$BOTH$ x ptr] zeroinitializer
@first = internal global [$BULK$ x i64] zeroinitializer
@moved = internal global [$BULK$ x i64] zeroinitializer
@need = internal global ptr null

; What gives a kernel by its number.
define void @soac_host_need_by(ptr %function) {
  store ptr %function, ptr @need
}

; Is code of little effort good for this number of bytes? In the first call that needs the kernel, while they are few.
define internal i1 @is_little(ptr %state, i64 %number, i64 %bytes) {
  %before = atomicrmw add ptr @moved[%number], i64 %bytes monotonic
  ret i1 false if icmp ugt i64 (add i64 %before, %bytes), $LITTLE$
  %call = xor i64 (shl i64 (load i64, ptr %state[$CALLS_WORD$]), 48), (ptrtoint ptr %state to i64)
  %exchanged = cmpxchg ptr @first[%number], i64 0, i64 %call monotonic monotonic
  %is_same = icmp eq i64 (extractvalue { i64, i1 } %exchanged, 0), %call
  ret i1 (or i1 (extractvalue { i64, i1 } %exchanged, 1), %is_same)
}

; A kernel by its number, for this number of bytes. Where there is none, the call that %state is of has failed.
define internal ptr @kernel(ptr %state, i64 %whole, i64 %bytes) {
  %best = load atomic ptr, ptr @kernels[%whole] acquire, align 8
  goto %fine if icmp ne ptr %best, null
choose:
  %slot = alloca ptr, align 8
  %number = select i1 (call i1 @is_little(ptr %state, i64 %whole, i64 %bytes)), i64 (add i64 %whole, $BULK$), i64 %whole
  %known = load atomic ptr, ptr @kernels[ptr %number] acquire, align 8
  goto %fine if icmp ne ptr %known, null
ask:
  %function = load ptr, ptr @need
  store ptr null, ptr %slot
  call void %function(i64 %number, ptr %slot)
  %made = load ptr, ptr %slot
  store atomic ptr %made, ptr @kernels[ptr %number] release, align 8
  goto %fine if icmp ne ptr %made, null
fail:
  store i64 1, ptr %state[$LOST_WORD$]
fine:
  %code = phi ptr [ %best, %entry ], [ %known, %choose ], [ %made, %ask ], [ null, %fail ]
  ret ptr %code
}

; target[..] = source[..], elementwise, of the target's sizes; the two do not overlap. Dimensions that lie one behind
; the other on both sides become one axis; rows that the source has backwards are taken from their ends. What is large is shared out among the threads of the call.
define void @soac_host_copy(ptr %state, ptr %target, ptr %source, i64 %rank, i64 %element) {
  %axes = alloca %Axis, i64 (add i64 %rank, 2)
  %job = alloca %Copy, align 8
  %log = call i64 @llvm.cttz.i64(i64 %element, i1 true)
  %sizes = getelementptr %Array, ptr %target, i32 0, i32 $Array.sizes$
  %to_strides = getelementptr i64, ptr %sizes, i64 %rank
  %from_strides = getelementptr i64, ptr (getelementptr %Array, ptr %source, i32 0, i32 $Array.sizes$), i64 %rank
collect:
  %left = phi i64 [ %rank, %entry ], [ %k, %collected ]
  %count = phi i64 [ 0, %entry ], [ %count1, %collected ]
  %bytes = phi i64 [ %element, %entry ], [ %more_bytes, %collected ]
  %to_moved = phi i64 [ 0, %entry ], [ %to_moved1, %collected ]
  %from_moved = phi i64 [ 0, %entry ], [ %from_moved1, %collected ]
  goto %pad if icmp sle i64 %left, 0
  %k = sub i64 %left, 1
  %size = load i64, ptr %sizes[%k]
  ret void if icmp sle i64 %size, 0
some:
  goto %collected if icmp eq i64 %size, 1
  %to_bytes = load i64, ptr %to_strides[%k]
  %to_step = ashr exact i64 %to_bytes, %log
  %from_bytes = load i64, ptr %from_strides[%k]
  %from_step = ashr exact i64 %from_bytes, %log
  %turns = and i1 (icmp eq i64 %from_step, -1), (icmp ne i64 %to_step, 1)
  %to = select i1 %turns, i64 (sub i64 0, %to_step), i64 %to_step
  %from = select i1 %turns, i64 1, i64 %from_step
  %way = select i1 %turns, i64 (sub i64 %size, 1), i64 0
  %to_moved2 = add i64 %to_moved, (mul i64 %way, %to_bytes)
  %from_moved2 = add i64 %from_moved, (mul i64 %way, %from_bytes)
  goto %push if icmp eq i64 %count, 0
  %last = getelementptr %Axis, ptr %axes[%Axis %count], i64 -1
  %inner_size = load i64, ptr %last->Axis.size
  %to_joins = icmp eq i64 (mul i64 %inner_size, (load i64, ptr %last->Axis.to)), %to
  %from_joins = icmp eq i64 (mul i64 %inner_size, (load i64, ptr %last->Axis.from)), %from
  goto %push unless and i1 %to_joins, %from_joins
join:
  store i64 (mul i64 %inner_size, %size), ptr %last->Axis.size
  br label %collected
push:
  %half = insertvalue %Axis (insertvalue %Axis poison, i64 %size, $Axis.size$), i64 %to, $Axis.to$
  store %Axis (insertvalue %Axis %half, i64 %from, $Axis.from$), ptr %axes[%Axis %count]
  %pushed = add i64 %count, 1
collected:
  %count1 = phi i64 [ %count, %some ], [ %count, %join ], [ %pushed, %push ]
  %to_moved1 = phi i64 [ %to_moved, %some ], [ %to_moved2, %join ], [ %to_moved2, %push ]
  %from_moved1 = phi i64 [ %from_moved, %some ], [ %from_moved2, %join ], [ %from_moved2, %push ]
  %more_bytes = mul i64 %bytes, %size
  br label %collect
pad:
  %end = getelementptr %Axis, ptr %axes, i64 %count
  store %Axis { i64 1, i64 1, i64 1 }, ptr %end
  store %Axis { i64 1, i64 1, i64 1 }, ptr %end[%Axis 1]
  %start = getelementptr i8, ptr (load ptr, ptr %target->Array.data), i64 %to_moved
  %origin = getelementptr i8, ptr (load ptr, ptr %source->Array.data), i64 %from_moved
  goto %launch if icmp ne i64 (load i64, ptr %axes->Axis.to), 1 || icmp ne i64 (load i64, ptr %axes->Axis.from), 1
  goto %launch if icmp ugt i64 %count, 1 || icmp uge i64 %bytes, $SHARED$
  call void @llvm.memcpy.p0.p0.i64(ptr %start, ptr %origin, i64 %bytes, i1 false)
  ret void
launch:
  %points = call i64 @points(ptr %axes)
  %is_thin = icmp ne i64 %points, 0
  goto %chosen if %is_thin
other:
  %found = call i64 @tile(ptr %axes, i64 %count, i64 %element, ptr %start, i64 %bytes)
  br label %chosen
chosen:
  %tile = phi i64 [ 0, %launch ], [ %found, %other ]
  %is_turned = icmp ne i64 %tile, 0
  %columns = load %Axis, ptr %axes
  %rows = load %Axis, ptr %axes[%Axis 1]
  %outer = call i64 @llvm.smax.i64(i64 (sub i64 %count, 2), i64 0)
  %beginnings = or i64 (ptrtoint ptr %start to i64), (shl i64 (extractvalue %Axis %rows, $Axis.to$), %log)
  %whole_lines = select i1 %is_turned, i1 (icmp eq i64 (urem i64 %beginnings, $LINE$), 0), i1 true
  %far = zext i1 (and i1 (icmp uge i64 %bytes, $FAR_BYTES$), %whole_lines) to i64
  store %Copy zeroinitializer, ptr %job
  store ptr %start, ptr %job->Copy.to
  store ptr %origin, ptr %job->Copy.from
  store ptr %axes[%Axis 2], ptr %job->Copy.axes
  store %Axis %columns, ptr %job->Copy.columns
  store %Axis %rows, ptr %job->Copy.rows
  store i64 %outer, ptr %job->Copy.outer
  store i64 %far, ptr %job->Copy.far
  %height = select i1 %is_turned, i64 (udiv i64 $DOWN$, %element), i64 $ROWS$
  %column_count = extractvalue %Axis %columns, $Axis.size$
  %row_count = extractvalue %Axis %rows, $Axis.size$
  %across = call i64 @parts(i64 %column_count, i64 (select i1 %is_turned, i64 $BAND$, i64 (udiv i64 $CHUNK$, %element)))
  %pieces = mul i64 %across, (call i64 @parts(i64 %row_count, i64 %height))
  %blocks = mul i64 (udiv i64 (udiv i64 %bytes, %element), (mul i64 %column_count, %row_count)), %pieces
  %points_group = add i64 (shl i64 (sub i64 %points, $NARROWEST$), 2), $POINTS$
  %tiles = add i64 $TILES$, (shl i64 (lshr i64 %tile, 4), 2)
  %tile_group = select i1 (icmp eq i64 (mul i64 %tile, %element), $LINE$), i64 4, i64 %tiles
  %number = add i64 (select i1 %is_turned, i64 %tile_group, i64 (select i1 %is_thin, i64 %points_group, i64 0)), %log
  call void @all(ptr %state, ptr %job, i64 %number, i64 %blocks, i64 %bytes)
}

; Run all blocks of a kernel, even if somebody wants to stop meanwhile.
define internal void @all(ptr %state, ptr %job, i64 %number, i64 %blocks, i64 %bytes) {
  %code = call ptr @kernel(ptr %state, i64 %number, i64 %bytes)
  ret void if icmp eq ptr %code, null
  %alone = icmp ult i64 %bytes, $SHARED$
  %stopped = call i64 @soac_host_run(ptr %state, ptr %job, ptr %code, i64 %blocks, i1 %alone, i64 $TASKS$)
  ret void if icmp eq i64 %stopped, 0
  call void %code(ptr %job, i64 0, i64 %blocks, i64 0)
}

; The side of the tiles that transpose, 0 where nothing is transposed or a side has fewer than 8 elements: half a line, so that
; every other vector lies in one line wherever rows begin; a whole one where whole lines are written past the caches; of
; small elements 16 or 8.
define internal i64 @tile(ptr %axes, i64 %count, i64 %element, ptr %start, i64 %bytes) {
  %most = select i1 (icmp ule i64 %element, 2), i64 16, i64 8
  goto %found if call i1 @turned(ptr %axes, i64 %count, i64 %most)
  goto %none if icmp eq i64 %most, 8
  ret i64 8 if call i1 @turned(ptr %axes, i64 %count, i64 8)
none:
  ret i64 0
found:
  ret i64 %most if icmp ult i64 %bytes, $FAR_BYTES$
  %rows = load %Axis, ptr %axes[%Axis 1]
  %least = call i64 @llvm.smin.i64(i64 (load i64, ptr %axes->Axis.size), i64 (extractvalue %Axis %rows, $Axis.size$))
  %beginnings = or i64 (ptrtoint ptr %start to i64), (mul i64 (extractvalue %Axis %rows, $Axis.to$), %element)
  %line = udiv i64 $LINE$, %element
  %whole = and i1 (icmp eq i64 (urem i64 %beginnings, $LINE$), 0), (icmp sge i64 %least, %line)
  ret i64 (select i1 %whole, i64 %line, i64 %most)
}

; Is the source contiguous along another axis than the target, both long enough for a tile? Then that one becomes the
; rows'.
define internal i1 @turned(ptr %axes, i64 %count, i64 %side) {
  %across = icmp ne i64 (load i64, ptr %axes->Axis.from), 1
  %fits = and i1 (icmp eq i64 (load i64, ptr %axes->Axis.to), 1), %across
  ret i1 false unless and i1 %fits, (icmp sge i64 (load i64, ptr %axes->Axis.size), %side)
each:
  %k = phi i64 [ 1, %entry ], [ %k1, %next ]
  ret i1 false if icmp sge i64 %k, %count
  %axis = load %Axis, ptr %axes[%Axis %k]
  %enough = icmp sge i64 (extractvalue %Axis %axis, $Axis.size$), %side
  goto %swap if and i1 (icmp eq i64 (extractvalue %Axis %axis, $Axis.from$), 1), %enough
next:
  %k1 = add i64 %k, 1
  br label %each
swap:
  store %Axis (load %Axis, ptr %axes[%Axis 1]), ptr %axes[%Axis %k]
  store %Axis %axis, ptr %axes[%Axis 1]
  ret i1 true
}

; Of how many elements are points, where one side is contiguous along the columns and the other has points between them, for
; which there is code? Else 0. Points whose rows lie apart in the source become rows.
define internal i64 @points(ptr %axes) {
  %columns = load %Axis, ptr %axes
  %rows = load %Axis, ptr %axes[%Axis 1]
  %size = extractvalue %Axis %columns, $Axis.size$
  %from = extractvalue %Axis %columns, $Axis.from$
  ret i64 0 if icmp ne i64 (extractvalue %Axis %columns, $Axis.to$), 1
  goto %apart if call i1 @few(i64 %from)
  ret i64 0 unless call i1 @few(i64 %size)
  ret i64 0 if icmp ne i64 (extractvalue %Axis %rows, $Axis.to$), %size
  ret i64 0 if icmp ne i64 (extractvalue %Axis %rows, $Axis.from$), 1
  store %Axis %rows, ptr %axes
  store %Axis %columns, ptr %axes[%Axis 1]
  ret i64 %size
apart:
  ret i64 %from
}

; Is there code for points of this number of elements?
define internal i1 @few(i64 %size) {
  ret i1 (and i1 (icmp sge i64 %size, $NARROWEST$), (icmp sle i64 %size, $WIDEST$))
}

; How many pieces of this length there are.
define internal i64 @parts(i64 %size, i64 %length) {
  %count = udiv i64 (add i64 %size, (sub i64 %length, 1)), %length
  ret i64 %count
}

; The dense array target[i] = start + i * step, modulo the width of an element.
define void @soac_host_iota(ptr %state, ptr %array, i64 %count, i64 %start, i64 %step, i64 %element) {
  %job = alloca %Iota, align 8
  %log = call i64 @llvm.cttz.i64(i64 %element, i1 true)
  store ptr (load ptr, ptr %array->Array.data), ptr %job->Iota.to
  store i64 %count, ptr %job->Iota.count
  store i64 %start, ptr %job->Iota.start
  store i64 %step, ptr %job->Iota.step
  %blocks = call i64 @parts(i64 %count, i64 (udiv i64 $CHUNK$, %element))
  call void @all(ptr %state, ptr %job, i64 (add i64 %log, 8), i64 %blocks, i64 (mul i64 %count, %element))
}
