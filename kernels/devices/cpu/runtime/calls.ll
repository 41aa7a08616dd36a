; What native host programs call for launches. A call of an entry point has a state, a table of words
; that caller and host program share (`Word` in assembly.py).

; Run all blocks of a kernel, on this thread while they take little, else in %tasks tasks for each. %kernel is twice its
; number, and 1 more for the form that writes past the caches.
; Where no code is there for all launches, that for this one is asked for, and it is timed. After a copy that was not made,
; nothing is launched.
define i64 @soac_host_launch(ptr %state, ptr %table, i64 %kernel, i64 %blocks, double %cost, i64 %tasks) {
  ret i64 $FINE$ if icmp sle i64 %blocks, 0
  ret i64 $NO_CODE$ if icmp ne i64 (load i64, ptr %state[$LOST_WORD$]), 0
find:
  %kernels = load ptr, ptr %state[$KERNELS_WORD$]
  %known = load ptr, ptr %kernels[%kernel]
  %is_new = icmp eq ptr %known, null
  goto %go unless %is_new
  store ptr null, ptr %state[$CODE_WORD$]
  call void *%state[$NEED_WORD$](i64 %kernel, ptr %state, ptr %table, i64 %blocks)
  %compiled = load ptr, ptr %state[$CODE_WORD$]
  ret i64 $NO_CODE$ if icmp eq ptr %compiled, null
begin:
  %start = call i64 @soac_host_now()
go:
  %code = phi ptr [ %known, %find ], [ %compiled, %begin ]
  %began = phi i64 [ 0, %find ], [ %start, %begin ]
  %small = fcmp olt double %cost, $INLINE_WORK$
  %stopped = call i64 @soac_host_run(ptr %state, ptr %table, ptr %code, i64 %blocks, i1 %small, i64 %tasks)
  ret i64 $STOPPED$ if icmp ne i64 %stopped, 0
  goto %judge unless %is_new
  store i64 (sub i64 (call i64 @soac_host_now()), %began), ptr %state[$SPENT_WORD$]
judge:
  ret i64 $FINE$ if icmp eq i64 (load i64, ptr (load ptr, ptr %table)), 0
  store i64 (lshr i64 %kernel, 1), ptr %state[$FAILED_WORD$]
  ret i64 $KERNEL$
}

; Run all blocks of a kernel, whose arguments are a table, in %tasks tasks for each thread of the call. What is said to be
; %small begins alone, in ranges of 1, 2, 4, .. blocks: an estimate knows no lengths of loops. Its rest is shared out as
; soon as it is known to take longer than to wake a thread ("heartbeat scheduling": promote what turns out to be long).
; Gives 1 if it was stopped.
define i64 @soac_host_run(ptr %state, ptr %table, ptr %code, i64 %blocks, i1 %small, i64 %tasks) {
  %record = load ptr, ptr %state[$RECORD_WORD$]
  store ptr %record, ptr %table
  store ptr (load ptr, ptr %state[$ARENAS_WORD$]), ptr %table[1]
  %threads = load i64, ptr %state[$THREADS_WORD$]
  goto %fork unless %small
  goto %watch unless or i1 (icmp sle i64 %threads, 1), (icmp sle i64 %blocks, 1)
  call void %code(ptr %table, i64 0, i64 %blocks, i64 0)
  ret i64 0
watch:
  %start = call i64 @soac_host_now()
range:
  %done = phi i64 [ 0, %watch ], [ %next, %estimate ]
  %next = call i64 @llvm.smin.i64(i64 (add i64 (mul i64 %done, 2), 1), i64 %blocks)
  call void %code(ptr %table, i64 %done, i64 %next, i64 0)
  ret i64 0 if icmp eq i64 %next, %blocks || icmp ne i64 (load i64, ptr %record), 0
estimate:
  %to_do = mul i64 (sub i64 (call i64 @soac_host_now()), %start), (sub i64 %blocks, %next)
  br i1 (icmp sge i64 %to_do, (mul i64 %next, $WORTH_SHARING$)), label %fork, label %range
fork:
  %first = phi i64 [ 0, %entry ], [ %next, %estimate ]
  %left = sub i64 %blocks, %first
  %used = call i64 @llvm.smin.i64(i64 %threads, i64 %left)
  %grain = call i64 @llvm.smax.i64(i64 (sdiv i64 (sdiv i64 %left, %used), %tasks), i64 1)
  %helpers = sub i64 %used, 1
  %address = ptrtoint ptr %code to i64
  %args = ptrtoint ptr %table to i64
  ret i64 (call i64 @soac_pool_run(i64 %address, i64 %args, i64 %first, i64 %blocks, i64 %grain, i64 %helpers))
}

; If the run is timed, note that a branch begins or ends, and when.
define i64 @soac_host_mark(ptr %state, i64 %what) {
  ret i64 $FINE$ if icmp eq i64 (load i64, ptr %state[$TIMED_WORD$]), 0
  ret i64 (call i64 @soac_host_append(ptr %state, i64 %what, i64 (call i64 @soac_host_now())))
}
