; What native host programs note of a call: what guards decide, and words of each device's own (`soac_host_mark`).

; Append two words to the trace.
define i64 @soac_host_append(ptr %state, i64 %word, i64 %value) {
  %trace = load ptr, ptr %state[$TRACE_WORD$]
  %count = load i64, ptr %state[$TRACED_WORD$]
  %room = load i64, ptr %state[$TRACE_ROOM_WORD$]
  goto %write if icmp slt i64 %count, %room
  %wanted = call i64 @llvm.smax.i64(i64 (mul i64 %room, 2), i64 64)
  %larger = call ptr @realloc(ptr %trace, i64 (mul i64 %wanted, 16))
  ret i64 $MEMORY$ if icmp eq ptr %larger, null
grown:
  store ptr %larger, ptr %state[$TRACE_WORD$]
  store i64 %wanted, ptr %state[$TRACE_ROOM_WORD$]
write:
  %pairs = phi ptr [ %trace, %entry ], [ %larger, %grown ]
  %first = getelementptr i64, ptr %pairs, i64 (mul i64 %count, 2)
  store i64 %word, ptr %first
  store i64 %value, ptr %first[1]
  store i64 (add i64 %count, 1), ptr %state[$TRACED_WORD$]
  ret i64 $FINE$
}

; Note what guard number %guard has decided.
define i64 @soac_host_note(ptr %state, i64 %guard, i64 %parallelism, i1 %taken) {
  %word = add i64 (mul i64 %guard, 2), (zext i1 %taken to i64)
  ret i64 (call i64 @soac_host_append(ptr %state, i64 %word, i64 %parallelism))
}

; Nanoseconds of a monotonic clock.
define i64 @soac_host_now() {
  %time = alloca { i64, i64 }, align 8
  %error = call i32 @clock_gettime(i32 $CLOCK$, ptr %time)
  %now = add i64 (mul i64 (load i64, ptr %time), 1000000000), (load i64, ptr %time[1])
  ret i64 %now
}
