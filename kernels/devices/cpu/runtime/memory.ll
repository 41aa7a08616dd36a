; Memory of native host programs: counted buffers with free lists.
;
; A buffer has a header in front: how many descriptors (descriptors.ll) refer to it; its size class, or the next free
; buffer while it is free itself; its capacity; what the system gave. Sizes are rounded up to an eighth of their power of
; two, and there is a free list for each. References are counted without atomic instructions: those of a call are its thread's
; alone, and a buffer that it gives away has one owner.
;
; The system puts large buffers at the same place of a page. Where the addresses of a load and of a store before it agree
; in their last 12 bits, a processor takes them for one place, and the load waits: so buffers begin at places that differ.

%Buffer = type { i64, i64, i64, ptr }  ; references class capacity given

@lists = internal global [$LISTS$ x ptr] zeroinitializer, align 64
@held = internal global i64 0, align 64
@lock = internal global i64 0, align 64
@turn = internal global i64 0, align 64

define internal void @enter() {
try:
  %pair = cmpxchg ptr @lock, i64 0, i64 1 acquire monotonic
  ret void if extractvalue { i64, i1 } %pair, 1
  call i32 @sched_yield()
  br label %try
}

define internal void @leave() {
  store atomic i64 0, ptr @lock release, align 8
}

; A child of fork has but one thread: whoever held the lock is not in it.
define i64 @soac_host_reset() {
  store i64 0, ptr @lock
  ret i64 0
}

define internal void @give(ptr %buffer) {
  call void @free(ptr (load ptr, ptr %buffer->Buffer.given))
}

; Give all free buffers back to the system.
define internal i64 @trim() {
  call void @enter()
  for %k < $LISTS$ {
  list:
    %head = load ptr, ptr @lists[ptr %k]
    goto %next.k if icmp eq ptr %head, null
    store ptr (load ptr, ptr %head->Buffer.class), ptr @lists[ptr %k]
    call void @give(ptr %head)
    br label %list
  }
  store i64 0, ptr @held
  call void @leave()
  ret i64 0
}

; Where the elements of a buffer are.
define ptr @soac_host_data(ptr %buffer) {
  ret ptr (getelementptr i8, ptr %buffer, i64 $HEADER$)
}

; A buffer of %bytes bytes, counted once; null if there is no memory.
define ptr @soac_host_take(ptr %state, i64 %bytes) {
  %spared = load i64, ptr %state[$SPARED_WORD$]
spare:
  %left = phi i64 [ %spared, %entry ], [ %at, %look ]
  goto %ask if icmp eq i64 %left, 0
look:
  %at = sub i64 %left, 1
  %place = getelementptr i64, ptr %state, i64 (add i64 %at, $SPARES_WORD$)
  %put_by = load ptr, ptr %place
  %room = load i64, ptr %put_by->Buffer.capacity
  %unsuited = or i1 (icmp ult i64 %room, %bytes), (icmp ugt i64 (lshr i64 %room, 4), %bytes)
  goto %spare if %unsuited
use:
  %last = sub i64 %spared, 1
  store i64 %last, ptr %state[$SPARED_WORD$]
  %top = add i64 %last, $SPARES_WORD$
  store ptr (load ptr, ptr %state[ptr %top]), ptr %place
  store i64 1, ptr %put_by
  ret ptr %put_by
ask:
  %size = call i64 @llvm.umax.i64(i64 %bytes, i64 64)
  %shift = sub i64 60, (call i64 @llvm.ctlz.i64(i64 %size, i1 true))
  %rounded = sub i64 (add i64 %size, (shl i64 1, %shift)), 1
  %units = lshr i64 %rounded, %shift
  %capacity = shl i64 %units, %shift
  %class = add i64 (shl i64 %shift, 3), %units
  call void @enter()
  %head = load ptr, ptr @lists[ptr %class]
  goto %new if icmp eq ptr %head, null
reuse:
  store ptr (load ptr, ptr %head->Buffer.class), ptr @lists[ptr %class]
  store i64 (sub i64 (load i64, ptr @held), %capacity), ptr @held
  call void @leave()
  br label %made
new:
  call void @leave()
  %large = icmp uge i64 %capacity, $LARGE$
  %whole = and i64 (add i64 %capacity, (select i1 %large, i64 $SPARE$, i64 127)), -64
  %first = call ptr @aligned_alloc(i64 64, i64 %whole)
  goto %got if icmp ne ptr %first, null
again:
  %trimmed = call i64 @trim()
  %second = call ptr @aligned_alloc(i64 64, i64 %whole)
  ret ptr null if icmp eq ptr %second, null
got:
  %fresh = phi ptr [ %first, %new ], [ %second, %again ]
  %to_page = and i64 (sub i64 0, (ptrtoint ptr %fresh to i64)), $IN_PAGE$
  %turn = atomicrmw add ptr @turn, i64 1 monotonic
  %quarters = mul i64 (and i64 (lshr i64 %turn, 1), 1), $QUARTER$
  %in_page = add i64 (mul i64 (and i64 %turn, 1), $HALF$), %quarters
  %begin = getelementptr i8, ptr %fresh, i64 (select i1 %large, i64 (add i64 %to_page, %in_page), i64 0)
  store ptr %fresh, ptr %begin->Buffer.given
  goto %made if icmp ult i64 %whole, $HUGE$
advise:
  %aligned = and i64 (add i64 (ptrtoint ptr %fresh to i64), 4095), -4096
  %page = inttoptr i64 %aligned to ptr
  %pages = sub i64 %whole, 4096
linux:  call i32 @madvise(ptr %page, i64 %pages, i32 14)
made:
  %buffer = phi ptr [ %head, %reuse ], [ %begin, %got ], [ %begin, %advise ]
  store i64 1, ptr %buffer
  store i64 %class, ptr %buffer->Buffer.class
  store i64 %capacity, ptr %buffer->Buffer.capacity
  ret ptr %buffer
}

; One reference less; without any, the buffer goes back to its list.
define i64 @soac_host_drop(ptr %buffer) {
  %left = sub i64 (load i64, ptr %buffer), 1
  store i64 %left, ptr %buffer
  ret i64 0 if icmp ne i64 %left, 0
  %class_place = getelementptr %Buffer, ptr %buffer, i32 0, i32 $Buffer.class$
  %capacity = load i64, ptr %buffer->Buffer.capacity
  %place = getelementptr ptr, ptr @lists, i64 (load i64, ptr %class_place)
  call void @enter()
  %more = add i64 (load i64, ptr @held), %capacity
  goto %return if icmp ugt i64 %more, $LIMIT$
  store i64 %more, ptr @held
  store ptr (load ptr, ptr %place), ptr %class_place
  store ptr %buffer, ptr %place
  call void @leave()
  ret i64 0
return:
  call void @leave()
  call void @give(ptr %buffer)
  ret i64 0
}

; Release a descriptor in a loop: a small buffer without references is what the next iteration asks for.
define void @soac_host_spare(ptr %state, ptr %array) {
  %buffer = load ptr, ptr %array
  ret void if icmp eq ptr %buffer, null
  %spared = load i64, ptr %state[$SPARED_WORD$]
  %large = icmp ugt i64 (load i64, ptr %buffer->Buffer.capacity), $LARGE$
  goto %drop if icmp ne i64 (load i64, ptr %buffer), 1 || icmp eq i64 %spared, $MOST_SPARES$
  goto %drop if %large
  store ptr null, ptr %array
  %at = add i64 %spared, $SPARES_WORD$
  store ptr %buffer, ptr %state[%at]
  store i64 (add i64 %spared, 1), ptr %state[$SPARED_WORD$]
  ret void
drop:
  call void @soac_host_release(ptr %array)
}

; Give back what loops have put by.
define void @soac_host_end(ptr %state) {
  %spared = load i64, ptr %state[$SPARED_WORD$]
  store i64 0, ptr %state[$SPARED_WORD$]
  for %k < %spared {
    %at = add i64 %k, $SPARES_WORD$
    %dropped = call i64 @soac_host_drop(ptr (load ptr, ptr %state[%at]))
  }
}

; Release a descriptor whose memory an iteration has made, for the next one: what is small, and what nothing else refers
; to, stays in it.
define void @soac_host_put_by(ptr %array) {
  %buffer = load ptr, ptr %array
  ret void if icmp eq ptr %buffer, null
  ret void if and i1 (icmp eq i64 (load i64, ptr %buffer), 1), (icmp ule i64 (load i64, ptr %buffer->Buffer.capacity), $LARGE$)
  call void @soac_host_release(ptr %array)
}

; As `scratch`, but in what was put by if it is large enough.
define i64 @soac_host_again(ptr %state, ptr %array, i64 %rank, i64 %element) {
  %buffer = load ptr, ptr %array
  goto %new if icmp eq ptr %buffer, null
  %bytes = call i64 @soac_host_lay(ptr %array, i64 %rank, i64 %element)
  goto %drop if icmp ugt i64 %bytes, (load i64, ptr %buffer->Buffer.capacity)
  ret i64 0
drop:
  call void @soac_host_release(ptr %array)
new:
  ret i64 (call i64 @soac_host_scratch(ptr %state, ptr %array, i64 %rank, i64 %element))
}

; Store a pattern of 8 bytes to all of a few bytes, and up to 7 behind them.
define void @soac_host_set(i64 %address, i64 %bytes, i64 %pattern) {
  %data = inttoptr i64 %address to ptr
each:
  %at = phi i64 [ 0, %entry ], [ %next, %go ]
  ret void if icmp sge i64 %at, %bytes
go:
  store i64 %pattern, ptr %data[i8 %at]
  %next = add i64 %at, 8
  br label %each
}
