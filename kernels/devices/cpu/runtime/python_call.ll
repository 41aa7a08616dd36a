; Calls of native host programs from Python without Python: arguments checked, and results made, by machine code.
;
;   soac_host_call (self, args, count)  ->  a list of the results, or UNSUITED, or the status of a failure
;
; `self` is a capsule with a head (`Head` in python_call.py): where the state is, what the arguments must be, and what
; the results are. The word at `turn` is 1 while a call is under way: it keeps a second one out that comes from another
; thread, or from a signal handler. Of Python and NumPy, the layouts of objects are their binary interface
; (object.h, ndarraytypes.h). The value of a scalar is at the start of what its object has after the header.

%PyObject = type { [$REFERENCES$ x i8], ptr }  ; references type
%PyScalarObject = type { %PyObject, i64 }  ; object value
%PyArrayObject = type { %PyObject, ptr, i32, ptr, ptr, ptr, ptr, i32 }  ; object data nd dimensions strides base descr flags
%Head = type { ptr, ptr, ptr, ptr, i64, %Table, %Table }  ; turn code state workers helpers arguments results
%Table = type { ptr, i64 }  ; rows count
%Argument = type { ptr, i64, ptr, ptr, i64, i64 }  ; type rank place plain least most

@numpy = internal global ptr null
@main_thread = internal global i64 0

; The table of NumPy's C interface, and the main thread.
define void @soac_host_know(ptr %table, i64 %main) {
  store ptr %table, ptr @numpy
  store i64 %main, ptr @main_thread
}

; An entry of that table.
define ptr @soac_host_numpy(i64 %number) {
  %table = load ptr, ptr @numpy
  ret ptr (load ptr, ptr %table[%number])
}

; ---- arguments

; One argument into its words; false if it does not suit: an array of another type, rank or layout, another scalar. A
; float of Python has its value where a float64 of NumPy has it, and is rounded for an f32, where the range is -1 to -1;
; one that overflows does not suit. Of an integer the range is looked at.
define internal i1 @put_argument(ptr %object, ptr %wanted) {
  %type = load ptr, ptr %object->PyObject.type
  %asked = load ptr, ptr %wanted->Argument.type
  %asked_rank = load i64, ptr %wanted->Argument.rank
  %target = load ptr, ptr %wanted->Argument.place
  goto %array if icmp ne i64 %asked_rank, 0
  goto %value if icmp eq ptr %type, %asked
  goto %bad if icmp ne ptr %type, (load ptr, ptr %wanted->Argument.plain)
  %least = load i64, ptr %wanted->Argument.least
  %most = load i64, ptr %wanted->Argument.most
  goto %integer if icmp slt i64 %least, %most
  goto %value if icmp sge i64 %most, 0
  %double = load double, ptr %object->PyScalarObject.value
  %rounded = fptrunc double %double to float
  %widened = fpext float %rounded to double
  %finite = fcmp une double (call double @llvm.fabs.f64(double %widened)), 0x7FF0000000000000
  goto %bad unless or i1 (fcmp oeq double %double, %widened), %finite
  store float %rounded, ptr %target
  ret i1 true
integer:
  %whole = call i64 @PyLong_AsLongLong(ptr %object)
  goto %held if icmp eq ptr (call ptr @PyErr_Occurred()), null
  call void @PyErr_Clear()
  br label %bad
held:
  goto %bad if icmp slt i64 %whole, %least || icmp sgt i64 %whole, %most
  store i64 %whole, ptr %target
  ret i1 true
value:
  store i64 (load i64, ptr %object->PyScalarObject.value), ptr %target
  ret i1 true
array:
  goto %bad if icmp ne ptr %type, (call ptr @soac_host_numpy(i64 $PyArray_Type$))
  %wide_rank = sext i32 (load i32, ptr %object->PyArrayObject.nd) to i64
  %descr = load ptr, ptr %object->PyArrayObject.descr
  %dense_flags = and i32 (load i32, ptr %object->PyArrayObject.flags), $NPY_ARRAY_CARRAY_RO$
  goto %bad if icmp ne i32 %dense_flags, $NPY_ARRAY_CARRAY_RO$ || icmp ne ptr %descr, %asked
  goto %bad if icmp ne i64 %wide_rank, %asked_rank
  store i64 (load i64, ptr %object->PyArrayObject.data), ptr %target
  %sizes = load ptr, ptr %object->PyArrayObject.dimensions
  for %k < %wide_rank {
    %k1 = add i64 %k, 1
    store i64 (load i64, ptr %sizes[%k]), ptr %target[%k1]
  }
  ret i1 true
bad:
  ret i1 false
}

; All arguments; false where one does not suit.
define internal i1 @put_arguments(ptr %args, %Table %table) {
  %rows = extractvalue %Table %table, $Table.rows$
  %count = extractvalue %Table %table, $Table.count$
  for %k < %count {
    ret i1 false unless call i1 @put_argument(ptr (load ptr, ptr %args[%k]), ptr %rows[%Argument %k])
  }
  ret i1 true
}

; ---- a call

; Run a host program without the lock of the interpreter.
define internal i64 @enter_host(ptr %code, ptr %state) {
  %thread = call ptr @PyEval_SaveThread()
  store ptr %thread, ptr %state[$THREAD_WORD$]
  %status = call i64 %code(ptr %state)
  call void @PyEval_RestoreThread(ptr %thread)
  ret i64 %status
}

; At the end of an iteration: does somebody want to stop? What a signal handler raises is left for the caller. The clock
; is not looked at in each of many short iterations.
define i64 @soac_host_pause(ptr %state) {
  goto %whole if icmp eq i64 (load i64, ptr %state[$LOST_WORD$]), 0
  ret i64 $NO_CODE$
whole:
  %stop = load atomic i64, ptr (load ptr, ptr %state[$STOP_WORD$]) monotonic, align 8
  ret i64 $STOPPED$ if icmp ne i64 %stop, 0
  ret i64 $FINE$ if icmp eq i64 (load i64, ptr %state[$LISTEN_WORD$]), 0
  %skip = load i64, ptr %state[$SKIP_WORD$]
  goto %look if icmp sle i64 %skip, 0
  store i64 (sub i64 %skip, 1), ptr %state[$SKIP_WORD$]
  ret i64 $FINE$
look:
  %now = call i64 @soac_host_now()
  %seen = load i64, ptr %state[$SEEN_WORD$]
  store i64 %now, ptr %state[$SEEN_WORD$]
  %turns = select i1 (icmp slt i64 (sub i64 %now, %seen), $SHORT$), i64 $SHORT_TURNS$, i64 0
  store i64 %turns, ptr %state[$SKIP_WORD$]
  ret i64 $FINE$ if icmp slt i64 %now, (load i64, ptr %state[$NEXT_LOOK_WORD$])
  store i64 (add i64 %now, $LOOK_EVERY$), ptr %state[$NEXT_LOOK_WORD$]
  call void @PyEval_RestoreThread(ptr (load ptr, ptr %state[$THREAD_WORD$]))
  %raised = call i32 @PyErr_CheckSignals()
  %same = call ptr @PyEval_SaveThread()
  ret i64 $FINE$ if icmp eq i32 %raised, 0
  ret i64 $STOPPED$
}

; A status leaves the turn taken, until the caller has read what the state says of the failure.
define ptr @soac_host_call(ptr %self, ptr %args, i64 %count) {
  %head = load %Head, ptr (call ptr @PyCapsule_GetPointer(ptr %self, ptr null))
  %state = extractvalue %Head %head, $Head.state$
  %turn = extractvalue %Head %head, $Head.turn$
  %arguments = extractvalue %Head %head, $Head.arguments$
  %results = extractvalue %Head %head, $Head.results$
  %result_rows = extractvalue %Table %results, $Table.rows$
  %result_count = extractvalue %Table %results, $Table.count$
  %workers = load i64, ptr (extractvalue %Head %head, $Head.workers$)
  goto %unsuited if icmp ne i64 %count, (extractvalue %Table %arguments, $Table.count$)
  goto %unsuited if icmp slt i64 %workers, (extractvalue %Head %head, $Head.helpers$)
  %before = atomicrmw xchg ptr %turn, i64 1 acquire
  goto %unsuited if icmp ne i64 %before, 0
  goto %run if call i1 @put_arguments(ptr %args, %Table %arguments)
give_up:
  store atomic i64 0, ptr %turn release, align 8
unsuited:
  ret ptr (call ptr @PyLong_FromLongLong(i64 $UNSUITED$))
run:
  %thread = call i64 @PyThread_get_thread_ident()
  %listens = zext i1 (icmp eq i64 %thread, (load i64, ptr @main_thread)) to i64
  store i64 %listens, ptr %state[$LISTEN_WORD$]
  store i64 0, ptr %state[$TRACED_WORD$]
  store i64 0, ptr %state[$LOST_WORD$]
  store i64 (add i64 (load i64, ptr %state[$CALLS_WORD$]), 1), ptr %state[$CALLS_WORD$]
  %ended = call i64 @enter_host(ptr (extractvalue %Head %head, $Head.code$), ptr %state)
  %status = select i1 (icmp eq i64 (load i64, ptr %state[$LOST_WORD$]), 0), i64 %ended, i64 $NO_CODE$
  switch i64 %status, label %failed [ i64 $FINE$, label %show i64 $UNSUITED$, label %give_up ]
show:
  %list = call ptr @soac_host_results(ptr %result_rows, i64 %result_count)
  store atomic i64 0, ptr %turn release, align 8
  ret ptr %list
failed:
  call void @soac_host_forget(ptr %result_rows, i64 %result_count)
  goto %raise if icmp ne ptr (call ptr @PyErr_Occurred()), null
  ret ptr (call ptr @PyLong_FromLongLong(i64 %status))
raise:
  store atomic i64 0, ptr %turn release, align 8
  ret ptr null
}
