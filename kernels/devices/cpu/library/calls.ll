; Calls of entry points: arguments into the state, results out of it. A scalar is its bytes in both; an array in the header
; is address and sizes, as the state has it, and what owns it. What depends on the device is in its file: what a call begins
; and ends with (`enter`, `run`, `leave`), arrays from and to the caller (`take`, `give`), and what a failure means (`found`).

declare void @soac_host_release(ptr)
declare i64 @soac_host_fresh(ptr, ptr, ptr, i64, i64)

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
  %code = load ptr, ptr %hosts[%number]
  %status = call i64 @soac_library_run(ptr %context, ptr %row, ptr %code, ptr %state)
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
  %unsaid = icmp eq i64 %own, 0
  %asked = select i1 %unsaid, i64 %all, i64 %own
  %threads = call i64 @llvm.smin.i64(i64 %asked, i64 %all)
  store i64 %threads, ptr %state[$THREADS_WORD$]
  %first = extractvalue %Entry %of, $Entry.first_setting$
  %words = getelementptr i64, ptr %state, i64 %first
  %uses = extractvalue %Entry %of, $Entry.uses$
  %rows = extractvalue %Table %uses, $Table.rows$
  %count = extractvalue %Table %uses, $Table.count$
  for %k < %count {
    %use = load %Use, ptr %rows[%Use %k]
    %number = extractvalue %Use %use, $Use.setting$
    %said = extractvalue %Use %use, $Use.default$
    %of_threads = icmp eq i64 %said, $OF_THREADS$
    %default = select i1 %of_threads, i64 %threads, i64 %said
    %is_size = extractvalue %Use %use, $Use.is_size$
    %choice = load %Choice, ptr %context->Context.choices[%number]
    %chosen = extractvalue %Choice %choice, $Choice.value$
    %is_set = extractvalue %Choice %choice, $Choice.is_set$
    %unset = icmp eq i64 %is_set, 0
    %a_size = icmp ne i64 %is_size, 0
    %zero = icmp eq i64 %chosen, 0
    %no_size = and i1 %a_size, %zero
    %by_default = or i1 %unset, %no_size
    %value = select i1 %by_default, i64 %default, i64 %chosen
    %is_default = zext i1 %unset to i64
    %at = mul i64 %k, 2
    %word = getelementptr i64, ptr %words, i64 %at
    store i64 %value, ptr %word
    store i64 %is_default, ptr %word[1]
  }
  ret void
}

; The bytes of a value where the header has it: of a scalar, or address and sizes.
define internal i64 @bytes_of(%Value %value) {
  %rank = extractvalue %Value %value, $Value.rank$
  %element = extractvalue %Value %value, $Value.bytes$
  %words = add i64 %rank, 1
  %bytes = mul i64 %words, 8
  %is_scalar = icmp eq i64 %rank, 0
  %size = select i1 %is_scalar, i64 %element, i64 %bytes
  ret i64 %size
}

; All arguments into their words. Gives why they are not there.
define internal i64 @put_arguments(ptr %context, ptr %row, ptr %state, ptr %args) {
  %params = load %Table, ptr %row->Entry.params
  %rows = extractvalue %Table %params, $Table.rows$
  %count = extractvalue %Table %params, $Table.count$
  for %k < %count {
    %value = load %Value, ptr %rows[%Value %k]
    %word = extractvalue %Value %value, $Value.word$
    %rank = extractvalue %Value %value, $Value.rank$
    %to = getelementptr i64, ptr %state, i64 %word
    %from = load ptr, ptr %args[%k]
    %bytes = call i64 @bytes_of(%Value %value)
    call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
    for %d < %rank {
      %dim = add i64 %d, 1
      %elements = load i64, ptr %to[%dim]
      goto %bad if icmp slt i64 %elements, 0
    }
    goto %next.k if icmp eq i64 %rank, 0
    %element = extractvalue %Value %value, $Value.bytes$
    goto %full unless call i1 @soac_library_take(ptr %context, ptr %state, ptr %to, i64 %rank, i64 %element)
  }
  ret i64 $FINE$
bad:
  ret i64 $UNSUITED$
full:
  ret i64 $MEMORY$
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
    %word = extractvalue %Value %value, $Value.word$
    %rank = extractvalue %Value %value, $Value.rank$
    %from = getelementptr i64, ptr %state, i64 %word
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
  %value = load %Value, ptr %rows[%Value %k]
  %word = extractvalue %Value %value, $Value.word$
  %rank = extractvalue %Value %value, $Value.rank$
  %element = extractvalue %Value %value, $Value.bytes$
  %array = getelementptr i64, ptr %state, i64 %word
  goto %fine if icmp eq i64 %rank, 0
  %buffer = load ptr, ptr %array
  %references = load i64, ptr %buffer
  goto %fine if icmp eq i64 %references, 1
  %twice = mul i64 %rank, 2
  %words = add i64 %twice, 2
  %fresh = alloca i64, i64 %words, align 8
  %status = call i64 @soac_host_fresh(ptr %state, ptr %fresh, ptr %array, i64 %rank, i64 %element)
  goto %bad if icmp ne i64 %status, 0
  call void @soac_host_release(ptr %array)
  %bytes = mul i64 %words, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %array, ptr %fresh, i64 %bytes, i1 false)
fine:
  ret i1 true
bad:
  ret i1 false
}

; Release the results, of which a call that failed may have made some.
define void @soac_library_forget(ptr %row, ptr %state) {
  %table = load %Table, ptr %row->Entry.results
  %rows = extractvalue %Table %table, $Table.rows$
  %count = extractvalue %Table %table, $Table.count$
  for %k < %count {
    %value = load %Value, ptr %rows[%Value %k]
    %rank = extractvalue %Value %value, $Value.rank$
    %word = extractvalue %Value %value, $Value.word$
    goto %next.k if icmp eq i64 %rank, 0
    call void @soac_host_release(ptr %state[%word])
  }
  ret void
}

; The failure of a context after a call with this status. The values stay where they are until the next call.
define internal void @tell(ptr %context, ptr %row, ptr %state, i64 %status) {
  %of = load %Entry, ptr %row
  %record_at = extractvalue %Entry %of, $Entry.record$
  %record = getelementptr i64, ptr %state, i64 %record_at
  %values = getelementptr i64, ptr %record, i64 1
  %which = load i64, ptr %record
  store i64 0, ptr %record
  %number = sub i64 %which, 1
  %failed = load i64, ptr %state[$FAILED_WORD$]
  switch i64 %status, label %other [ i64 $UNSUITED$, label %unsuited i64 $SITE$, label %host ]
unsuited:
  %sizes = extractvalue %Entry %of, $Entry.unsuited$
  call void @soac_library_fail(ptr %context, ptr %sizes, ptr null)
  ret void
host:
  %sites = extractvalue %Entry %of, $Entry.sites$
  call void @soac_library_fail(ptr %context, ptr %sites[%Site %failed], ptr %values)
  call void @soac_library_called(ptr %context, ptr %row, ptr %state)
  ret void
other:
  %known = call ptr @soac_library_found(ptr %context, ptr %row, ptr %state, i64 %status, i64 %number)
  %none = icmp eq ptr %known, null
  %memory_or = select i1 %none, ptr @soac_site_memory, ptr %known
  %or_null = select i1 %none, ptr null, ptr %values
  call void @soac_library_fail(ptr %context, ptr %memory_or, ptr %or_null)
  ret void
}

; The states of a context, with their traces, are no more.
define internal void @free_states(ptr %context) {
  for %e < $ENTRIES$ {
    %words = load ptr, ptr %context->Context.states[%e]
    goto %next.e if icmp eq ptr %words, null
    %pairs = load ptr, ptr %words[$TRACE_WORD$]
    call void @free(ptr %pairs)
    call void @free(ptr %words)
  }
  ret void
}
