; Contexts: the target whose code runs, threads, settings, arenas, and a state for each entry. The pool of threads and the
; lists of free buffers are the process's.

@starting = internal global [128 x i8] zeroinitializer, align 64
@workers = internal global i64 0
@bulk = internal global ptr null

; A context as a configuration says (null: by default); null if there is no memory. One that cannot run says why in its
; failure.
define ptr @$PROGRAM$_context_new(ptr %config) {
  %context = call ptr @calloc(i64 1, i64 (ptrtoint ptr getelementptr (%Context, ptr null, i64 1) to i64))
  ret ptr null if icmp eq ptr %context, null
begin:
  %locked = call i32 @pthread_mutex_init(ptr %context->Context.lock, ptr null)
  goto %configured if icmp eq ptr %config, null
read:
  %given = load %Config, ptr %config
configured:
  %how = phi %Config [ zeroinitializer, %begin ], [ %given, %read ]
  %asked = extractvalue %Config %how, $Config.threads$
  %several = select i1 (icmp sle i64 %asked, 0), i64 (call i64 @sysconf(i32 $CORES$)), i64 %asked
  %threads = call i64 @llvm.smin.i64(i64 (call i64 @llvm.smax.i64(i64 %several, i64 1)), i64 $MAX_THREADS$)
  store i64 %threads, ptr %context->Context.threads
  call void @preset(ptr %context)
  %target = call ptr @target_for(ptr (extractvalue %Config %how, $Config.target$))
  store ptr %target, ptr %context->Context.target
  goto %fail if icmp eq ptr %target, null
  %reserved = call i1 @reserve_all(ptr %context)
  %made = call i1 @make_states(ptr %context)
  goto %drop unless %reserved && %made
  call void @start(ptr %target, i64 %threads)
  ret ptr %context
fail:
  call void @soac_library_fail(ptr %context, ptr @soac_site_target, ptr null)
  ret ptr %context
drop:
  call void @$PROGRAM$_context_free(ptr %context)
  ret ptr null
}

define void @$PROGRAM$_context_free(ptr %context) {
  ret void if icmp eq ptr %context, null
  %table = load ptr, ptr %context->Context.arenas
  %count = select i1 (icmp eq ptr %table, null), i64 0, i64 (load i64, ptr %context->Context.threads)
  for %k < %count {
    %arena = load %Arena, ptr %table[%Arena %k]
    %size = extractvalue %Arena %arena, $Arena.size$
    goto %next.k if icmp eq i64 %size, 0
    %given = call i32 @munmap(ptr (extractvalue %Arena %arena, $Arena.base$), i64 %size)
  }
  call void @free_states(ptr %context)
  call void @free(ptr %table)
  %destroyed = call i32 @pthread_mutex_destroy(ptr %context->Context.lock)
  call void @free(ptr %context)
}

; The name of the target whose code runs.
define ptr @$PROGRAM$_context_target(ptr %context) {
  %target = load ptr, ptr %context->Context.target
  goto %done if icmp eq ptr %target, null
some:
  %known = load ptr, ptr %target->Target.name
done:
  %name = phi ptr [ null, %entry ], [ %known, %some ]
  ret ptr %name
}

; Give up what an array of a result owns.
define void @$PROGRAM$_release(ptr %owner) {
  ret void if icmp eq ptr %owner, null
  %dropped = call i64 @soac_host_drop(ptr %owner)
}

; The first target of a name (null: of any) that this processor runs; null if there is none.
define internal ptr @target_for(ptr %wanted) {
  %level = call i64 @soac_library_level()
  %any = icmp eq ptr %wanted, null
  for %k < $TARGETS$ {
    %row = load ptr, ptr @soac_targets[%k]
    goto %next.k if icmp slt i64 %level, (load i64, ptr %row->Target.level)
    goto %found if %any || icmp eq i32 (call i32 @strcmp(ptr (load ptr, ptr %row->Target.name), ptr %wanted)), 0
  }
  br label %none
found:
  ret ptr %row
none:
  ret ptr null
}

; Address space for the arrays inside of kernels, for each thread: half as much where the system refuses.
define internal i1 @reserve_all(ptr %context) {
  %threads = load i64, ptr %context->Context.threads
  %table = call ptr @calloc(i64 %threads, i64 (ptrtoint ptr getelementptr (%Arena, ptr null, i64 1) to i64))
  store ptr %table, ptr %context->Context.arenas
  goto %fail if icmp eq ptr %table, null
  for %k < %threads {
  try:
    %size = phi i64 [ $RESERVED$, %body.k ], [ %half, %less ]
    %base = call ptr @mmap(ptr null, i64 %size, i32 $READ_WRITE$, i32 $RESERVE_ONLY$, i32 -1, i64 0)
    goto %got if icmp ne i64 (ptrtoint ptr %base to i64), -1
  less:
    %half = lshr i64 %size, 1
    br i1 (icmp ult i64 %half, $SMALLEST$), label %fail, label %try
  got:
    %with_base = insertvalue %Arena zeroinitializer, ptr %base, $Arena.base$
    store %Arena (insertvalue %Arena %with_base, i64 %size, $Arena.size$), ptr %table[%Arena %k]
  }
  ret i1 true
fail:
  ret i1 false
}

; A state for each entry, with what no call changes.
define internal i1 @make_states(ptr %context) {
  %stop = call i64 @soac_pool_stop_flag()
  %arenas = load ptr, ptr %context->Context.arenas
  %target = load ptr, ptr %context->Context.target
  %all_kernels = load ptr, ptr %target->Target.kernels
  for %k < $ENTRIES$ {
    %state = call ptr @calloc(i64 (load i64, ptr @soac_entries[%k]->Entry.words), i64 8)
    store ptr %state, ptr %context->Context.states[%k]
    ret i1 false if icmp eq ptr %state, null
    store ptr %arenas, ptr %state[$ARENAS_WORD$]
    store ptr (load ptr, ptr %all_kernels[%k]), ptr %state[$KERNELS_WORD$]
    %record = load i64, ptr @soac_entries[%k]->Entry.record
    store ptr %state[%record], ptr %state[$RECORD_WORD$]
    store i64 %stop, ptr %state[$STOP_WORD$]
  }
  ret i1 true
}

; Workers for launches on %threads threads, and the kernels of copies; on the first call what a child of fork does.
define internal void @start(ptr %target, i64 %threads) {
  %lock = call i32 @pthread_mutex_lock(ptr @starting)
  goto %count if icmp ne ptr (load ptr, ptr @bulk), null
  store ptr (load ptr, ptr %target->Target.bulk), ptr @bulk
  call void @soac_host_need_by(ptr @bulk_kernel)
  %reset = call i64 @soac_pool_reset()
  %registered = call i32 @pthread_atfork(ptr null, ptr null, ptr @after_fork)
count:
  %there = load i64, ptr @workers
  %missing = sub i64 (sub i64 %threads, 1), %there
  goto %done if icmp sle i64 %missing, 0
  store i64 (add i64 %there, (call i64 @soac_pool_grow(i64 %missing))), ptr @workers
done:
  %unlock = call i32 @pthread_mutex_unlock(ptr @starting)
}

; Stores the kernel of a bulk operation, by its number; a library has neither code of little effort nor that of wide points,
; which the plain copies of their elements do.
define internal void @bulk_kernel(i64 %number, ptr %slot) {
  %kernels = load ptr, ptr @bulk
  %whole = urem i64 %number, $BULK$
  %own = select i1 (icmp ult i64 %whole, $IN_LIBRARIES$), i64 %whole, i64 (and i64 %whole, 3)
  store ptr (load ptr, ptr %kernels[%own]), ptr %slot
}

; Only the thread that forked lives on in the child, whose launches run on it alone.
define internal void @after_fork() {
  %initialised = call i32 @pthread_mutex_init(ptr @starting, ptr null)
  store i64 0, ptr @workers
  %pool = call i64 @soac_pool_reset()
  %memory = call i64 @soac_host_reset()
}

; At the end of an iteration of the host: nothing stops a library's call.
define i64 @soac_host_pause(ptr %state) {
  ret i64 $FINE$
}

; ---- what calls ask of a device (calls.ll)

define internal i64 @soac_library_enter(ptr %context) {
  ret i64 $FINE$
}

define internal void @soac_library_leave(ptr %context) {
}

define internal i64 @soac_library_run(ptr %context, ptr %row, ptr %code, ptr %state) {
  ret i64 (call i64 %code(ptr %state))
}

; An argument is used where it is.
define internal i1 @soac_library_take(ptr %context, ptr %state, ptr %words, i64 %rank, i64 %width) {
  ret i1 true
}

; A result is the caller's where it is.
define internal i1 @soac_library_give(ptr %context, ptr %from, ptr %to, ptr %owner, i64 %rank, i64 %width) {
  store ptr (load ptr, ptr %from), ptr %owner
  store ptr null, ptr %from
  ret i1 true
}

; The site that a call has failed at in a kernel, by its number there; null if there was no memory.
define internal ptr @soac_library_found(ptr %context, ptr %row, ptr %state, i64 %status, i64 %number) {
  ret ptr null if icmp ne i64 %status, $KERNEL$
  %failed = load i64, ptr %state[$FAILED_WORD$]
  %kernels = load ptr, ptr %row->Entry.kernels
  ret ptr null if icmp uge i64 %number, (load i64, ptr %kernels[%failed]->Table.count)
  ret ptr (getelementptr %Site, ptr (load ptr, ptr %kernels[%failed]->Table.rows), i64 %number)
}
