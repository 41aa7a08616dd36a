; The fork-join pool (thread_pool.py has the protocol). Every word that threads share has a cache line of its own.

%Job = type { ptr, ptr, i64, i64 }  ; kernel args grain shares
%Share = type { i64, i64, [6 x i64] }  ; next end rest

@gate = internal global i64 0, align 64
@shares = internal global [$MAX_THREADS$ x %Share] zeroinitializer, align 64
@finished = internal global i64 0, align 64
@stop = internal global i64 0, align 64
@busy = internal global i64 0, align 64
@sleepers = internal global i64 0, align 64
@job = internal global %Job zeroinitializer, align 64
@mutex = internal global [128 x i8] zeroinitializer, align 64
@awake = internal global [128 x i8] zeroinitializer, align 64
@workers = internal global i64 0, align 64
@numbered = internal global i64 0, align 64
@handles = internal global [$MAX_THREADS$ x i64] zeroinitializer, align 64
@room = internal global [16 x i64] zeroinitializer, align 64

; Take ranges, first those of the own share, until there are none, something failed, or somebody wants to stop. Gives 1 for
; the last.
define internal i64 @work(ptr %kernel, ptr %args, i64 %grain, ptr %shares, i64 %count, i64 %own, i64 %worker) {
  %record = load ptr, ptr %args
  for %k < %count {
    %share = getelementptr %Share, ptr %shares, i64 (urem i64 (add i64 %own, %k), %count)
    %end = load i64, ptr %share->Share.end
  again:
    %stop = load atomic i64, ptr @stop monotonic, align 8
    ret i64 1 if icmp ne i64 %stop, 0
    %failure = load atomic i64, ptr %record monotonic, align 8
    ret i64 0 if icmp ne i64 %failure, 0
    %next = load atomic i64, ptr %share monotonic, align 8
    goto %next.k if icmp sge i64 %next, %end
    %b0 = atomicrmw add ptr %share, i64 %grain monotonic
    goto %next.k if icmp sge i64 %b0, %end
    %behind = add i64 %b0, %grain
    %b1 = select i1 (icmp sgt i64 %behind, %end), i64 %end, i64 %behind
    call void %kernel(ptr %args, i64 %b0, i64 %b1, i64 %worker)
    br label %again
  }
  ret i64 0
}

; %own: the share with which to begin.
define internal i64 @work_on_job(i64 %own, i64 %worker) {
  %kernel = load ptr, ptr @job
  %args = load ptr, ptr getelementptr (%Job, ptr @job, i64 0, i32 $Job.args$)
  %grain = load i64, ptr getelementptr (%Job, ptr @job, i64 0, i32 $Job.grain$)
  %count = load i64, ptr getelementptr (%Job, ptr @job, i64 0, i32 $Job.shares$)
  %begin = select i1 (icmp ult i64 %own, %count), i64 %own, i64 %worker
  ret i64 (call i64 @work(ptr %kernel, ptr %args, i64 %grain, ptr @shares, i64 %count, i64 %begin, i64 %worker))
}

; Wait for a gate of another generation than %seen: look for a while, then sleep. Gives the gate.
define internal i64 @wait_for_gate(i64 %seen) {
spin:
  %k = phi i64 [ 0, %entry ], [ %k1, %same ]
  %gate = load atomic i64, ptr @gate acquire, align 8
  goto %found if icmp ne i64 (lshr i64 %gate, $GENERATION_SHIFT$), %seen
same:
  $PAUSE$
  %k1 = add i64 %k, 1
  goto %spin if icmp ule i64 %k1, $SPINS$
  call i32 @pthread_mutex_lock(ptr @mutex)
  atomicrmw add ptr @sleepers, i64 1 seq_cst
check:
  %later = load atomic i64, ptr @gate seq_cst, align 8
  goto %get_up if icmp ne i64 (lshr i64 %later, $GENERATION_SHIFT$), %seen
  call i32 @pthread_cond_wait(ptr @awake, ptr @mutex)
  br label %check
get_up:
  atomicrmw sub ptr @sleepers, i64 1 seq_cst
  call i32 @pthread_mutex_unlock(ptr @mutex)
  ret i64 %later
found:
  ret i64 %gate
}

define internal ptr @worker(ptr %start) {
  %first = ptrtoint ptr %start to i64
  %before = atomicrmw add ptr @numbered, i64 1 monotonic
  %number = add i64 %before, 1
wait:
  %seen = phi i64 [ %first, %entry ], [ %generation, %missed ], [ %generation, %finish ]
  %new = call i64 @wait_for_gate(i64 %seen)
try:
  %gate = phi i64 [ %new, %wait ], [ %gate_now, %join ]
  %generation = lshr i64 %gate, $GENERATION_SHIFT$
  %joined = and i64 %gate, $JOINED$
  %room = icmp ult i64 %joined, (and i64 (lshr i64 %gate, $LIMIT_SHIFT$), $LIMIT_MASK$)
  goto %join if and i1 (icmp ne i64 (and i64 %gate, $OPEN$), 0), %room
missed:
  br label %wait
join:
  %pair = cmpxchg ptr @gate, i64 %gate, i64 (add i64 %gate, 1) acq_rel acquire
  %gate_now = extractvalue { i64, i1 } %pair, 0
  goto %try unless extractvalue { i64, i1 } %pair, 1
finish:
  %ignored = call i64 @work_on_job(i64 %number, i64 (add i64 %joined, 1))
  atomicrmw add ptr @finished, i64 1 release
  br label %wait
}

; Keep the workers where this thread may be, but off the processor that it is on, if there is another: a system may begin a thread
; on the processor of the one that wakes it, behind that one, for milliseconds. @room: where they are kept.
define internal void @make_room() {
linux:  %set = alloca [16 x i64], align 8
linux:  %here = sext i32 (call i32 @sched_getcpu()) to i64
linux:  ret void if icmp uge i64 %here, 1024
linux:  ret void if icmp slt i32 (call i32 @sched_getaffinity(i32 0, i64 128, ptr %set)), 0
linux:  %word = lshr i64 %here, 6
linux:  %others = xor i64 (shl i64 1, (and i64 %here, 63)), -1
linux:  store i64 (and i64 (load i64, ptr %set[%word]), %others), ptr %set[%word]
linux:  for %k < 16, i64 %new = 0 then %more {
linux:    %more = or i64 %new, (xor i64 (load i64, ptr %set[%k]), (load i64, ptr @room[%k]))
linux:  }
linux:  ret void if icmp eq i64 %new, 0
linux:  store [16 x i64] (load [16 x i64], ptr %set), ptr @room
linux:  %workers = load atomic i64, ptr @workers acquire, align 8
linux:  for %worker < %workers {
linux:    call i32 @pthread_setaffinity_np(i64 (load i64, ptr @handles[%worker]), i64 128, ptr %set)
linux:  }
}

; Run the blocks from %first up to %blocks with up to %helpers more threads. Gives 1 if somebody wants to stop.
define i64 @soac_pool_run(i64 %kernel_address, i64 %args_address, i64 %first, i64 %blocks, i64 %grain, i64 %helpers) {
  %kernel = inttoptr i64 %kernel_address to ptr
  %args = inttoptr i64 %args_address to ptr
  %own = alloca %Share, align 8
  goto %inline if icmp sle i64 %helpers, 0
  %pair = cmpxchg ptr @busy, i64 0, i64 1 acquire monotonic
  goto %launch if extractvalue { i64, i1 } %pair, 1
inline:
  store i64 %first, ptr %own
  store i64 %blocks, ptr %own->Share.end
  ret i64 (call i64 @work(ptr %kernel, ptr %args, i64 %grain, ptr %own, i64 1, i64 0, i64 0))
launch:
  store ptr %kernel, ptr @job
  store ptr %args, ptr getelementptr (%Job, ptr @job, i64 0, i32 $Job.args$)
  store i64 %grain, ptr getelementptr (%Job, ptr @job, i64 0, i32 $Job.grain$)
  %count = add i64 %helpers, 1
  store i64 %count, ptr getelementptr (%Job, ptr @job, i64 0, i32 $Job.shares$)
  for %s < %count, i64 %since = %first then %until {
    %left = mul i64 (sub i64 %blocks, %first), (add i64 %s, 1)
    %until = add i64 %first, (sdiv i64 %left, %count)
    store i64 %since, ptr @shares[%Share %s]->Share.next
    store i64 %until, ptr @shares[%Share %s]->Share.end
  }
  store atomic i64 0, ptr @finished monotonic, align 8
  %old = load atomic i64, ptr @gate monotonic, align 8
  %high = shl i64 (add i64 (lshr i64 %old, $GENERATION_SHIFT$), 1), $GENERATION_SHIFT$
  %gate = or i64 %high, (or i64 (shl i64 %helpers, $LIMIT_SHIFT$), $OPEN$)
  store atomic i64 %gate, ptr @gate seq_cst, align 8
  %asleep = load atomic i64, ptr @sleepers seq_cst, align 8
  goto %begin if icmp eq i64 %asleep, 0
  call void @make_room()
  call i32 @pthread_mutex_lock(ptr @mutex)
  call i32 @pthread_cond_broadcast(ptr @awake)
  call i32 @pthread_mutex_unlock(ptr @mutex)
begin:
  %stopped = call i64 @work_on_job(i64 0, i64 0)
  %closed = atomicrmw and ptr @gate, i64 $CLOSE$ acq_rel
  %joined = and i64 %closed, $JOINED$
wait:
  %k = phi i64 [ 0, %begin ], [ %k1, %pause ], [ 0, %yield ]
  %done = load atomic i64, ptr @finished acquire, align 8
  goto %leave if icmp eq i64 %done, %joined
pause:
  $PAUSE$
  %k1 = add i64 %k, 1
  goto %wait if icmp ule i64 %k1, $PATIENCE$
yield:
  call i32 @sched_yield()
  br label %wait
leave:
  store atomic i64 0, ptr @busy release, align 8
  ret i64 %stopped
}

; Start more workers; gives how many were started.
define i64 @soac_pool_grow(i64 %count) {
  %gate = load atomic i64, ptr @gate acquire, align 8
  %start = inttoptr i64 (lshr i64 %gate, $GENERATION_SHIFT$) to ptr
  for %k < %count {
    %workers = load i64, ptr @workers
    %handle = getelementptr i64, ptr @handles, i64 %workers
    goto %end if icmp ne i32 (call i32 @pthread_create(ptr %handle, ptr null, ptr @worker, ptr %start)), 0
    call i32 @pthread_detach(i64 (load i64, ptr %handle))
    store atomic i64 (add i64 %workers, 1), ptr @workers release, align 8
    store [16 x i64] zeroinitializer, ptr @room
  }
end:
  ret i64 %k
}

define i64 @soac_pool_reset() {
  store i64 0, ptr @gate
  store i64 0, ptr @numbered
  store i64 0, ptr @finished
  store i64 0, ptr @busy
  store i64 0, ptr @sleepers
  store i64 0, ptr @workers
  store [16 x i64] zeroinitializer, ptr @room
  call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  call i32 @pthread_cond_init(ptr @awake, ptr null)
  ret i64 0
}

define i64 @soac_pool_stop_flag() {
  ret i64 (ptrtoint ptr @stop to i64)
}
