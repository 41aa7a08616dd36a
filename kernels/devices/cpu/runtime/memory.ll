; Memory of native host programs: counted buffers with free lists.
;
; A buffer has a header in front: how many descriptors (descriptors.ll) refer to it; its size class, or the next free
; buffer while it is free itself; its capacity; what the system gave. Sizes are rounded up to an eighth of their power of
; two, and there is a free list for each.
;
; The system puts large buffers at the same place of a page. Where the addresses of a load and of a store before it agree
; in their last 12 bits, a processor takes them for one place, and the load waits: so buffers begin at places that differ.

%Buffer = type { i64, i64, i64, ptr }  ; references class capacity given

@lists = internal global [$LISTS$ x ptr] zeroinitializer, align 64
@held = internal global i64 0, align 64
@lock = internal global i64 0, align 64
@turn = internal global i64 0, align 64

declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.umax.i64(i64, i64)
declare i32 @sched_yield()
declare i64 @soac_host_lay(ptr, i64, i64)
declare i64 @soac_host_scratch(ptr, ptr, i64, i64)
declare void @soac_host_release(ptr)
$DECLARE_ADVISE$

define internal void @enter() {
try:
  %pair = cmpxchg ptr @lock, i64 0, i64 1 acquire monotonic
  %ours = extractvalue { i64, i1 } %pair, 1
  goto %done if %ours
  call i32 @sched_yield()
  br label %try
done:
  ret void
}

define internal void @leave() {
  store atomic i64 0, ptr @lock release, align 8
  ret void
}

; A child of fork has but one thread: whoever held the lock is not in it.
define i64 @soac_host_reset() {
  store i64 0, ptr @lock
  ret i64 0
}

define internal void @give(ptr %buffer) {
  %given = load ptr, ptr %buffer->Buffer.given
  call void @free(ptr %given)
  ret void
}

; Give all free buffers back to the system.
define internal i64 @trim() {
  call void @enter()
  for %k < $LISTS$ {
  list:
    %place = getelementptr ptr, ptr @lists, i64 %k
    %head = load ptr, ptr %place
    goto %next.k if icmp eq ptr %head, null
    %rest = load ptr, ptr %head->Buffer.class
    store ptr %rest, ptr %place
    call void @give(ptr %head)
    br label %list
  }
  store i64 0, ptr @held
  call void @leave()
  ret i64 0
}

; Where the elements of a buffer are.
define ptr @soac_host_data(ptr %buffer) {
  %data = getelementptr i8, ptr %buffer, i64 $HEADER$
  ret ptr %data
}

; A buffer of %bytes bytes, counted once; null if there is no memory.
define ptr @soac_host_take(ptr %state, i64 %bytes) {
  %size = call i64 @llvm.umax.i64(i64 %bytes, i64 64)
  %zeros = call i64 @llvm.ctlz.i64(i64 %size, i1 true)
  %shift = sub i64 60, %zeros
  %step = shl i64 1, %shift
  %up = add i64 %size, %step
  %top = sub i64 %up, 1
  %units = lshr i64 %top, %shift
  %capacity = shl i64 %units, %shift
  %group = shl i64 %shift, 3
  %class = add i64 %group, %units
  %place = getelementptr ptr, ptr @lists, i64 %class
  call void @enter()
  %head = load ptr, ptr %place
  goto %new if icmp eq ptr %head, null
reuse:
  %rest = load ptr, ptr %head->Buffer.class
  store ptr %rest, ptr %place
  %held = load i64, ptr @held
  %less = sub i64 %held, %capacity
  store i64 %less, ptr @held
  call void @leave()
  br label %made
new:
  call void @leave()
  %large = icmp uge i64 %capacity, $LARGE$
  %spare = select i1 %large, i64 $SPARE$, i64 127
  %needed = add i64 %capacity, %spare
  %whole = and i64 %needed, -64
  %first = call ptr @aligned_alloc(i64 64, i64 %whole)
  goto %got if icmp ne ptr %first, null
again:
  %trimmed = call i64 @trim()
  %second = call ptr @aligned_alloc(i64 64, i64 %whole)
  goto %fail if icmp eq ptr %second, null
got:
  %fresh = phi ptr [ %first, %new ], [ %second, %again ]
  %given = ptrtoint ptr %fresh to i64
  %below = sub i64 0, %given
  %to_page = and i64 %below, $IN_PAGE$
  %turn = atomicrmw add ptr @turn, i64 1 monotonic
  %odd = and i64 %turn, 1
  %second_bit = lshr i64 %turn, 1
  %pair = and i64 %second_bit, 1
  %halves = mul i64 %odd, $HALF$
  %quarters = mul i64 %pair, $QUARTER$
  %in_page = add i64 %halves, %quarters
  %chosen = add i64 %to_page, %in_page
  %skipped = select i1 %large, i64 %chosen, i64 0
  %begin = getelementptr i8, ptr %fresh, i64 %skipped
  store ptr %fresh, ptr %begin->Buffer.given
  goto %made if icmp ult i64 %whole, $HUGE$
advise:
  %start = ptrtoint ptr %fresh to i64
  %past = add i64 %start, 4095
  %aligned = and i64 %past, -4096
  %page = inttoptr i64 %aligned to ptr
  %pages = sub i64 %whole, 4096
  $ADVISE$
made:
  %buffer = phi ptr [ %head, %reuse ], [ %begin, %got ], [ %begin, %advise ]
  store i64 1, ptr %buffer
  store i64 %class, ptr %buffer->Buffer.class
  store i64 %capacity, ptr %buffer->Buffer.capacity
  ret ptr %buffer
fail:
  ret ptr null
}

; One reference less; without any, the buffer goes back to its list.
define i64 @soac_host_drop(ptr %buffer) {
  %old = atomicrmw sub ptr %buffer, i64 1 acq_rel
  goto %done if icmp ne i64 %old, 1
  %class_place = getelementptr %Buffer, ptr %buffer, i32 0, i32 $Buffer.class$
  %class = load i64, ptr %class_place
  %capacity = load i64, ptr %buffer->Buffer.capacity
  %place = getelementptr ptr, ptr @lists, i64 %class
  call void @enter()
  %held = load i64, ptr @held
  %more = add i64 %held, %capacity
  goto %return if icmp ugt i64 %more, $LIMIT$
  store i64 %more, ptr @held
  %head = load ptr, ptr %place
  store ptr %head, ptr %class_place
  store ptr %buffer, ptr %place
  call void @leave()
  ret i64 0
return:
  call void @leave()
  call void @give(ptr %buffer)
  ret i64 0
done:
  ret i64 0
}

; Release a descriptor whose memory an iteration has made, for the next one: what is small, and what nothing else refers
; to, stays in it.
define void @soac_host_put_by(ptr %array) {
  %buffer = load ptr, ptr %array
  goto %done if icmp eq ptr %buffer, null
  %references = load atomic i64, ptr %buffer monotonic, align 8
  %single = icmp eq i64 %references, 1
  %capacity = load i64, ptr %buffer->Buffer.capacity
  %small = icmp ule i64 %capacity, $LARGE$
  %spare = and i1 %single, %small
  goto %done if %spare
  call void @soac_host_release(ptr %array)
done:
  ret void
}

; As `scratch`, but in what was put by if it is large enough.
define i64 @soac_host_again(ptr %state, ptr %array, i64 %rank, i64 %element) {
  %buffer = load ptr, ptr %array
  goto %new if icmp eq ptr %buffer, null
  %bytes = call i64 @soac_host_lay(ptr %array, i64 %rank, i64 %element)
  %capacity = load i64, ptr %buffer->Buffer.capacity
  goto %drop if icmp ugt i64 %bytes, %capacity
  ret i64 0
drop:
  call void @soac_host_release(ptr %array)
new:
  %status = call i64 @soac_host_scratch(ptr %state, ptr %array, i64 %rank, i64 %element)
  ret i64 %status
}

; Store a pattern of 8 bytes to all of a few bytes, and up to 7 behind them.
define void @soac_host_set(i64 %address, i64 %bytes, i64 %pattern) {
  %data = inttoptr i64 %address to ptr
each:
  %at = phi i64 [ 0, %entry ], [ %next, %go ]
  goto %done if icmp sge i64 %at, %bytes
go:
  store i64 %pattern, ptr %data[i8 %at]
  %next = add i64 %at, 8
  br label %each
done:
  ret void
}
