; Descriptors of arrays in native host programs: references to buffers (memory.ll), and layouts.
;
; A descriptor of rank r is 2 + 2r words: the buffer (null: the memory is the caller's, or there is none yet), the address
; of the first element, r sizes, r strides in bytes. Releasing a descriptor empties it.

%Array = type { ptr, ptr, [0 x i64] }  ; buffer data sizes

define void @soac_host_release(ptr %array) {
  %buffer = load ptr, ptr %array
  ret void if icmp eq ptr %buffer, null
  store ptr null, ptr %array
  %dropped = call i64 @soac_host_drop(ptr %buffer)
}

; Release `count` descriptors of `words` words each.
define void @soac_host_release_all(ptr %frame, i64 %count, i64 %words) {
  for %k < %count {
    %at = mul i64 %k, %words
    call void @soac_host_release(ptr %frame[%at])
  }
}

; target = source: one more reference.
define void @soac_host_alias(ptr %target, ptr %source, i64 %rank) {
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %source, i64 (add i64 (mul i64 %rank, 16), 16), i1 false)
  %buffer = load ptr, ptr %source
  ret void if icmp eq ptr %buffer, null
  store i64 (add i64 (load i64, ptr %buffer), 1), ptr %buffer
}

; target = source, which is left empty.
define void @soac_host_move(ptr %target, ptr %source, i64 %rank) {
  %words = add i64 (mul i64 %rank, 2), 2
  for %k < %words {
    store i64 (load i64, ptr %source[%k]), ptr %target[%k]
  }
  store ptr null, ptr %source
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
  %worse = or i1 %bad, (or i1 (extractvalue { i64, i1 } %pair, 1), (icmp ugt i64 %product, 4611686018427387904))
  %emptier = or i1 %empty, (icmp sle i64 %size, 0)
  br label %each
done:
  goto %give unless %empty
settle:
  %m = phi i64 [ %rank, %done ], [ %next, %settle ]
  %next = sub i64 %m, 1
  store i64 (call i64 @llvm.smax.i64(i64 (load i64, ptr %sizes[%next]), i64 0)), ptr %sizes[%next]
  goto %settle if icmp sgt i64 %next, 0
give:
  ret i64 (select i1 %empty, i64 0, i64 (select i1 %bad, i64 -1, i64 %bytes))
}

; Memory for an array whose sizes stand in the descriptor. Gives 1 if there is none.
define i64 @soac_host_scratch(ptr %state, ptr %array, i64 %rank, i64 %element) {
  %bytes = call i64 @soac_host_lay(ptr %array, i64 %rank, i64 %element)
  ret i64 1 if icmp slt i64 %bytes, 0
  %buffer = call ptr @soac_host_take(ptr %state, i64 %bytes)
  ret i64 1 if icmp eq ptr %buffer, null
  store ptr %buffer, ptr %array
  store ptr (call ptr @soac_host_data(ptr %buffer)), ptr %array->Array.data
  ret i64 0
}

; As `scratch`, in the memory of `other` if that has these sizes, is dense, and nothing else refers to its buffer.
define i64 @soac_host_over(ptr %state, ptr %array, ptr %other, i64 %rank, i64 %element) {
  %buffer = load ptr, ptr %other
  goto %new if icmp eq ptr %buffer, null
  goto %new if icmp ne i64 (load i64, ptr %buffer), 1
  %bytes = call i64 @soac_host_lay(ptr %array, i64 %rank, i64 %element)
  %sizes = getelementptr %Array, ptr %array, i32 0, i32 $Array.sizes$
  %others = getelementptr %Array, ptr %other, i32 0, i32 $Array.sizes$
  %words = mul i64 %rank, 2
  for %k < %words {
    goto %new if icmp ne i64 (load i64, ptr %sizes[%k]), (load i64, ptr %others[%k])
  }
  call void @soac_host_alias(ptr %array, ptr %other, i64 %rank)
  ret i64 0
new:
  ret i64 (call i64 @soac_host_scratch(ptr %state, ptr %array, i64 %rank, i64 %element))
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
  %size = load i64, ptr %sizes[%k]
  %wrong = and i1 (icmp ne i64 (load i64, ptr %strides[%k]), %bytes), (icmp ne i64 %size, 1)
  %worse = or i1 %bad, %wrong
  %emptier = or i1 %empty, (icmp eq i64 %size, 0)
  %next = mul i64 %bytes, %size
  br label %each
done:
  ret i1 (or i1 (xor i1 %bad, true), %empty)
}

; target = a dense copy of source. Gives 1 if there is no memory.
define i64 @soac_host_fresh(ptr %state, ptr %target, ptr %source, i64 %rank, i64 %element) {
  call void @llvm.memcpy.p0.p0.i64(ptr %target->Array.sizes, ptr %source->Array.sizes, i64 (mul i64 %rank, 8), i1 false)
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
  ret i64 (call i64 @soac_host_fresh(ptr %state, ptr %target, ptr %source, i64 %rank, i64 %element))
}

; target = source, or a copy of it where it has the buffer of `other`.
define i64 @soac_host_apart(ptr %state, ptr %target, ptr %source, ptr %other, i64 %rank, i64 %element) {
  goto %copy if icmp eq ptr (load ptr, ptr %source), (load ptr, ptr %other)
  call void @soac_host_alias(ptr %target, ptr %source, i64 %rank)
  ret i64 0
copy:
  ret i64 (call i64 @soac_host_fresh(ptr %state, ptr %target, ptr %source, i64 %rank, i64 %element))
}

; As `bind`, but what is not in a buffer of ours is copied: for results.
define i64 @soac_host_give(ptr %state, ptr %target, ptr %source, i64 %rank, i64 %element) {
  goto %other if icmp eq ptr (load ptr, ptr %source), null
  ret i64 (call i64 @soac_host_bind(ptr %state, ptr %target, ptr %source, i64 %rank, i64 %element))
other:
  ret i64 (call i64 @soac_host_fresh(ptr %state, ptr %target, ptr %source, i64 %rank, i64 %element))
}
