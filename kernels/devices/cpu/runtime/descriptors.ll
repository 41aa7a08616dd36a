; Descriptors of arrays in native host programs: references to buffers (memory.ll), and layouts.
;
; A descriptor of rank r is 2 + 2r words: the buffer (null: the memory is the caller's, or there is none yet), the address
; of the first element, r sizes, r strides in bytes. Releasing a descriptor empties it.

%Array = type { ptr, ptr, [0 x i64] }  ; buffer data sizes

declare ptr @soac_host_take(ptr, i64)
declare ptr @soac_host_data(ptr)
declare i64 @soac_host_drop(ptr)
declare void @soac_host_copy(ptr, ptr, ptr, i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.smax.i64(i64, i64)
declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)

define void @soac_host_release(ptr %array) {
  %buffer = load ptr, ptr %array
  goto %done if icmp eq ptr %buffer, null
  store ptr null, ptr %array
  %dropped = call i64 @soac_host_drop(ptr %buffer)
done:
  ret void
}

; Release `count` descriptors of `words` words each.
define void @soac_host_release_all(ptr %frame, i64 %count, i64 %words) {
  for %k < %count {
    %at = mul i64 %k, %words
    call void @soac_host_release(ptr %frame[%at])
  }
  ret void
}

; target = source: one more reference.
define void @soac_host_alias(ptr %target, ptr %source, i64 %rank) {
  %words = mul i64 %rank, 16
  %bytes = add i64 %words, 16
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %source, i64 %bytes, i1 false)
  %buffer = load ptr, ptr %source
  goto %done if icmp eq ptr %buffer, null
  %old = atomicrmw add ptr %buffer, i64 1 monotonic
done:
  ret void
}

; target = source, which is left empty.
define void @soac_host_move(ptr %target, ptr %source, i64 %rank) {
  %words = mul i64 %rank, 16
  %bytes = add i64 %words, 16
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %source, i64 %bytes, i1 false)
  store ptr null, ptr %source
  ret void
}

; Set the strides of a row-major array of these sizes; negative ones become 0. Gives its bytes, -1 if no array can have the
; sizes.
define i64 @soac_host_lay(ptr %array, i64 %rank, i64 %element) {
  %sizes = getelementptr %Array, ptr %array, i32 0, i32 $Array.sizes$
  %strides = getelementptr i64, ptr %sizes, i64 %rank
each:
  %left = phi i64 [ %rank, %entry ], [ %k, %go ]
  %bytes = phi i64 [ %element, %entry ], [ %product, %go ]
  %bad = phi i1 [ false, %entry ], [ %worse, %go ]
  %empty = phi i1 [ false, %entry ], [ %emptier, %go ]
  goto %done if icmp sle i64 %left, 0
go:
  %k = sub i64 %left, 1
  store i64 %bytes, ptr %strides[%k]
  %size = load i64, ptr %sizes[%k]
  %pair = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %bytes, i64 %size)
  %product = extractvalue { i64, i1 } %pair, 0
  %over = extractvalue { i64, i1 } %pair, 1
  %large = icmp ugt i64 %product, 4611686018427387904
  %too = or i1 %over, %large
  %worse = or i1 %bad, %too
  %none = icmp sle i64 %size, 0
  %emptier = or i1 %empty, %none
  br label %each
done:
  goto %give unless %empty
settle:
  %m = phi i64 [ %rank, %done ], [ %next, %settle ]
  %next = sub i64 %m, 1
  %old = load i64, ptr %sizes[%next]
  %new = call i64 @llvm.smax.i64(i64 %old, i64 0)
  store i64 %new, ptr %sizes[%next]
  goto %settle if icmp sgt i64 %next, 0
give:
  %full = select i1 %bad, i64 -1, i64 %bytes
  %result = select i1 %empty, i64 0, i64 %full
  ret i64 %result
}

; Memory for an array whose sizes stand in the descriptor. Gives 1 if there is none.
define i64 @soac_host_scratch(ptr %state, ptr %array, i64 %rank, i64 %element) {
  %bytes = call i64 @soac_host_lay(ptr %array, i64 %rank, i64 %element)
  goto %fail if icmp slt i64 %bytes, 0
  %buffer = call ptr @soac_host_take(ptr %state, i64 %bytes)
  goto %fail if icmp eq ptr %buffer, null
  store ptr %buffer, ptr %array
  %data = call ptr @soac_host_data(ptr %buffer)
  store ptr %data, ptr %array->Array.data
  ret i64 0
fail:
  ret i64 1
}

; As `scratch`, in the memory of `other` if that has these sizes, is dense, and nothing else refers to its buffer.
define i64 @soac_host_over(ptr %state, ptr %array, ptr %other, i64 %rank, i64 %element) {
  %buffer = load ptr, ptr %other
  goto %new if icmp eq ptr %buffer, null
  %references = load atomic i64, ptr %buffer acquire, align 8
  goto %new if icmp ne i64 %references, 1
  %bytes = call i64 @soac_host_lay(ptr %array, i64 %rank, i64 %element)
  %sizes = getelementptr %Array, ptr %array, i32 0, i32 $Array.sizes$
  %others = getelementptr %Array, ptr %other, i32 0, i32 $Array.sizes$
  %words = mul i64 %rank, 2
  for %k < %words {
    %own = load i64, ptr %sizes[%k]
    %wanted = load i64, ptr %others[%k]
    goto %new if icmp ne i64 %own, %wanted
  }
  call void @soac_host_alias(ptr %array, ptr %other, i64 %rank)
  ret i64 0
new:
  %status = call i64 @soac_host_scratch(ptr %state, ptr %array, i64 %rank, i64 %element)
  ret i64 %status
}

define internal i1 @dense(ptr %array, i64 %rank, i64 %element) {
  %sizes = getelementptr %Array, ptr %array, i32 0, i32 $Array.sizes$
  %strides = getelementptr i64, ptr %sizes, i64 %rank
each:
  %left = phi i64 [ %rank, %entry ], [ %k, %go ]
  %bytes = phi i64 [ %element, %entry ], [ %next, %go ]
  %bad = phi i1 [ false, %entry ], [ %worse, %go ]
  %empty = phi i1 [ false, %entry ], [ %emptier, %go ]
  goto %done if icmp sle i64 %left, 0
go:
  %k = sub i64 %left, 1
  %stride = load i64, ptr %strides[%k]
  %size = load i64, ptr %sizes[%k]
  %differs = icmp ne i64 %stride, %bytes
  %several = icmp ne i64 %size, 1
  %wrong = and i1 %differs, %several
  %worse = or i1 %bad, %wrong
  %zero = icmp eq i64 %size, 0
  %emptier = or i1 %empty, %zero
  %next = mul i64 %bytes, %size
  br label %each
done:
  %fine = xor i1 %bad, true
  %result = or i1 %fine, %empty
  ret i1 %result
}

; target = a dense copy of source. Gives 1 if there is no memory.
define i64 @soac_host_fresh(ptr %state, ptr %target, ptr %source, i64 %rank, i64 %element) {
  %bytes = mul i64 %rank, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %target->Array.sizes, ptr %source->Array.sizes, i64 %bytes, i1 false)
  %status = call i64 @soac_host_scratch(ptr %state, ptr %target, i64 %rank, i64 %element)
  goto %done if icmp ne i64 %status, 0
  call void @soac_host_copy(ptr %state, ptr %target, ptr %source, i64 %rank, i64 %element)
done:
  ret i64 %status
}

; target = source, or a dense copy of it where it is not dense.
define i64 @soac_host_bind(ptr %state, ptr %target, ptr %source, i64 %rank, i64 %element) {
  goto %other unless call i1 @dense(ptr %source, i64 %rank, i64 %element)
  call void @soac_host_alias(ptr %target, ptr %source, i64 %rank)
  ret i64 0
other:
  %status = call i64 @soac_host_fresh(ptr %state, ptr %target, ptr %source, i64 %rank, i64 %element)
  ret i64 %status
}

; target = source, or a copy of it where it has the buffer of `other`.
define i64 @soac_host_apart(ptr %state, ptr %target, ptr %source, ptr %other, i64 %rank, i64 %element) {
  %buffer = load ptr, ptr %source
  %others = load ptr, ptr %other
  goto %copy if icmp eq ptr %buffer, %others
  call void @soac_host_alias(ptr %target, ptr %source, i64 %rank)
  ret i64 0
copy:
  %status = call i64 @soac_host_fresh(ptr %state, ptr %target, ptr %source, i64 %rank, i64 %element)
  ret i64 %status
}

; As `bind`, but what is not in a buffer of ours is copied: for results.
define i64 @soac_host_give(ptr %state, ptr %target, ptr %source, i64 %rank, i64 %element) {
  %buffer = load ptr, ptr %source
  goto %other if icmp eq ptr %buffer, null
  %bound = call i64 @soac_host_bind(ptr %state, ptr %target, ptr %source, i64 %rank, i64 %element)
  ret i64 %bound
other:
  %status = call i64 @soac_host_fresh(ptr %state, ptr %target, ptr %source, i64 %rank, i64 %element)
  ret i64 %status
}
