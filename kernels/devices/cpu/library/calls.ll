; Calls of entry points: arguments into the state, results out of it. A scalar is its bytes in both; an array in the header
; is address and sizes, as the state has it, and what owns it. What depends on the device is in its file: what a call begins
; and ends with (`enter`, `run`, `leave`), arrays from and to the caller (`take`, `give`), and what a failure means (`found`).

; Run entry number %number on arguments and results at these places; 1 if it failed. One call at a time on a context.
define i32 @soac_library_call(ptr %context, i64 %number, ptr %args, ptr %results) {
  %lock = getelementptr %Context, ptr %context, i32 0, i32 $Context.lock$
  %locked = call i32 @pthread_mutex_lock(ptr %lock)
  %target = load ptr, ptr %context->Context.target
  goto %fail if icmp eq ptr %target, null
begin:
  store i64 0, ptr %context->Context.failed
  %row = getelementptr %Entry, ptr @soac_entries, i64 %number
  %state = load ptr, ptr %context->Context.states[%number]
  call void @put_settings(ptr %context, ptr %row, ptr %state)
  %entered = call i64 @soac_library_enter(ptr %context)
  goto %ended if icmp ne i64 %entered, $FINE$
put:
  %suits = call i64 @put_arguments(ptr %context, ptr %row, ptr %state, ptr %args)
  goto %ended if icmp ne i64 %suits, $FINE$
run:
  store i64 0, ptr %state[$TRACED_WORD$]
  %hosts = load ptr, ptr %target->Target.hosts
  %status = call i64 @soac_library_run(ptr %context, ptr %row, ptr (load ptr, ptr %hosts[%number]), ptr %state)
  goto %ended if icmp ne i64 %status, $FINE$
give:
  goto %done if call i1 @give_results(ptr %context, ptr %row, ptr %state, ptr %results)
ended:
  %why = phi i64 [ %entered, %begin ], [ %suits, %put ], [ %status, %run ], [ $MEMORY$, %give ]
  call void @soac_library_forget(ptr %row, ptr %state)
  call void @tell(ptr %context, ptr %row, ptr %state, i64 %why)
  call void @soac_library_leave(ptr %context)
fail:
  %unlocked_too = call i32 @pthread_mutex_unlock(ptr %lock)
  ret i32 1
done:
  call void @soac_library_leave(ptr %context)
  %unlocked = call i32 @pthread_mutex_unlock(ptr %lock)
  ret i32 0
}

; The number of threads of an entry, and its settings, each with whether that is a default. The default $OF_THREADS$ is
; the number of threads.
define internal void @put_settings(ptr %context, ptr %row, ptr %state) {
  %of = load %Entry, ptr %row
  %all = load i64, ptr %context->Context.threads
  %setting = extractvalue %Entry %of, $Entry.threads$
  %own = load i64, ptr %context->Context.choices[%setting]
  %threads = call i64 @llvm.smin.i64(i64 (select i1 (icmp eq i64 %own, 0), i64 %all, i64 %own), i64 %all)
  store i64 %threads, ptr %state[$THREADS_WORD$]
  %words = getelementptr i64, ptr %state, i64 (extractvalue %Entry %of, $Entry.first_setting$)
  %uses = extractvalue %Entry %of, $Entry.uses$
  %rows = extractvalue %Table %uses, $Table.rows$
  %count = extractvalue %Table %uses, $Table.count$
  for %k < %count {
    %number = load i64, ptr %rows[%k]->Use.setting
    %said = load i64, ptr %rows[%k]->Use.default
    %default = select i1 (icmp eq i64 %said, $OF_THREADS$), i64 %threads, i64 %said
    %choice = load %Choice, ptr %context->Context.choices[%number]
    %chosen = extractvalue %Choice %choice, $Choice.value$
    %unset = icmp eq i64 (extractvalue %Choice %choice, $Choice.is_set$), 0
    %no_size = and i1 (icmp ne i64 (load i64, ptr %rows[%k]->Use.is_size), 0), (icmp eq i64 %chosen, 0)
    %word = getelementptr i64, ptr %words, i64 (mul i64 %k, 2)
    store i64 (select i1 (or i1 %unset, %no_size), i64 %default, i64 %chosen), ptr %word
    store i64 (zext i1 %unset to i64), ptr %word[1]
  }
}

; The bytes of a value where the header has it: of a scalar, or address and sizes.
define internal i64 @bytes_of(%Value %value) {
  %rank = extractvalue %Value %value, $Value.rank$
  %bytes = mul i64 (add i64 %rank, 1), 8
  ret i64 (select i1 (icmp eq i64 %rank, 0), i64 (extractvalue %Value %value, $Value.bytes$), i64 %bytes)
}

; All arguments into their words. Gives why they are not there.
define internal i64 @put_arguments(ptr %context, ptr %row, ptr %state, ptr %args) {
  %params = load %Table, ptr %row->Entry.params
  %rows = extractvalue %Table %params, $Table.rows$
  %count = extractvalue %Table %params, $Table.count$
  for %k < %count {
    %value = load %Value, ptr %rows[%Value %k]
    %rank = extractvalue %Value %value, $Value.rank$
    %to = getelementptr i64, ptr %state, i64 (extractvalue %Value %value, $Value.word$)
    %from = load ptr, ptr %args[%k]
    call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 (call i64 @bytes_of(%Value %value)), i1 false)
    for %d < %rank {
      %dim = add i64 %d, 1
      ret i64 $UNSUITED$ if icmp slt i64 (load i64, ptr %to[%dim]), 0
    }
    goto %next.k if icmp eq i64 %rank, 0
    %element = extractvalue %Value %value, $Value.bytes$
    ret i64 $MEMORY$ unless call i1 @soac_library_take(ptr %context, ptr %state, ptr %to, i64 %rank, i64 %element)
  }
  ret i64 $FINE$
}

; All results to the caller, first those that share memory with another one into memory of their own; false if there is
; none.
define internal i1 @give_results(ptr %context, ptr %row, ptr %state, ptr %results) {
  %table = load %Table, ptr %row->Entry.results
  %rows = extractvalue %Table %table, $Table.rows$
  %count = extractvalue %Table %table, $Table.count$
  for %k < %count {
    goto %fail unless call i1 @set_apart(ptr %rows, i64 %k, ptr %state)
  }
  for %g < %count {
    %value = load %Value, ptr %rows[%Value %g]
    %rank = extractvalue %Value %value, $Value.rank$
    %from = getelementptr i64, ptr %state, i64 (extractvalue %Value %value, $Value.word$)
    %to = load ptr, ptr %results[%g]
    %bytes = call i64 @bytes_of(%Value %value)
    %is_scalar = icmp eq i64 %rank, 0
    %source = select i1 %is_scalar, ptr %from, ptr %from->Array.data
    call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %source, i64 %bytes, i1 false)
    goto %next.g if %is_scalar
    %element = extractvalue %Value %value, $Value.bytes$
    goto %fail unless call i1 @soac_library_give(ptr %context, ptr %from, ptr %to, ptr %to[i8 %bytes], i64 %rank, i64 %element)
  }
  ret i1 true
fail:
  ret i1 false
}

; Copy result number %k where its buffer has another reference: one of another result.
define internal i1 @set_apart(ptr %rows, i64 %k, ptr %state) {
  %rank = load i64, ptr %rows[%k]->Value.rank
  %element = load i64, ptr %rows[%k]->Value.bytes
  %array = getelementptr i64, ptr %state, i64 (load i64, ptr %rows[%k]->Value.word)
  ret i1 true if icmp eq i64 %rank, 0 || icmp eq i64 (load i64, ptr (load ptr, ptr %array)), 1
  %words = add i64 (mul i64 %rank, 2), 2
  %fresh = alloca i64, i64 %words, align 8
  %status = call i64 @soac_host_fresh(ptr %state, ptr %fresh, ptr %array, i64 %rank, i64 %element)
  ret i1 false if icmp ne i64 %status, 0
  call void @soac_host_release(ptr %array)
  call void @llvm.memcpy.p0.p0.i64(ptr %array, ptr %fresh, i64 (mul i64 %words, 8), i1 false)
  ret i1 true
}

; Release the results, of which a call that failed may have made some.
define void @soac_library_forget(ptr %row, ptr %state) {
  %table = load %Table, ptr %row->Entry.results
  %rows = extractvalue %Table %table, $Table.rows$
  %count = extractvalue %Table %table, $Table.count$
  for %k < %count {
    %word = load i64, ptr %rows[%k]->Value.word
    goto %next.k if icmp eq i64 (load i64, ptr %rows[%k]->Value.rank), 0
    call void @soac_host_release(ptr %state[%word])
  }
}

; The failure of a context after a call with this status. The values stay where they are until the next call.
define internal void @tell(ptr %context, ptr %row, ptr %state, i64 %status) {
  %record = getelementptr i64, ptr %state, i64 (load i64, ptr %row->Entry.record)
  %which = load i64, ptr %record
  store i64 0, ptr %record
  %number = sub i64 %which, 1
  %failed = load i64, ptr %state[$FAILED_WORD$]
  switch i64 %status, label %other [ i64 $UNSUITED$, label %unsuited i64 $SITE$, label %host ]
unsuited:
  call void @soac_library_fail(ptr %context, ptr (load ptr, ptr %row->Entry.unsuited), ptr null)
  ret void
host:
  %sites = load ptr, ptr %row->Entry.sites
  call void @soac_library_fail(ptr %context, ptr %sites[%Site %failed], ptr %record[1])
  call void @soac_library_called(ptr %context, ptr %row, ptr %state)
  ret void
other:
  %known = call ptr @soac_library_found(ptr %context, ptr %row, ptr %state, i64 %status, i64 %number)
  %none = icmp eq ptr %known, null
  %memory_or = select i1 %none, ptr @soac_site_memory, ptr %known
  call void @soac_library_fail(ptr %context, ptr %memory_or, ptr (select i1 %none, ptr null, ptr %record[1]))
}

; The states of a context, with their traces, are no more.
define internal void @free_states(ptr %context) {
  for %e < $ENTRIES$ {
    %words = load ptr, ptr %context->Context.states[%e]
    goto %next.e if icmp eq ptr %words, null
    call void @free(ptr (load ptr, ptr %words[$TRACE_WORD$]))
    call void @free(ptr %words)
  }
}
