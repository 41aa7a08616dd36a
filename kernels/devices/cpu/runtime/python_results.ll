; Results of native host programs as NumPy's arrays and scalars.
;
; A large result shows the memory of a buffer of the runtime (memory.ll); its base is a capsule that gives the buffer back
; when the last view dies. A small one, or one that shares its buffer with a result before it, has memory of NumPy's.

%PyObject = type { [$REFERENCES$ x i8], ptr }  ; references type
%PyArrayObject = type { %PyObject, ptr, i32, ptr, ptr, ptr, ptr, i32 }  ; object data nd dimensions strides base descr flags
%Array = type { ptr, ptr, [0 x i64] }  ; buffer data sizes
%Result = type { ptr, i64, ptr, i64 }  ; place rank descr element

; The end of an array that shows a buffer.
define internal void @shown_no_more(ptr %capsule) {
  %dropped = call i64 @soac_host_drop(ptr (call ptr @PyCapsule_GetPointer(ptr %capsule, ptr null)))
}

; Has an array among the results before number %number this buffer?
define internal i1 @seen_before(ptr %results, i64 %number, ptr %buffer) {
  for %k < %number {
    goto %next.k if icmp sle i64 (load i64, ptr %results[%k]->Result.rank), 0
    ret i1 true if icmp eq ptr (load ptr, ptr (load ptr, ptr %results[%k]->Result.place)), %buffer
  }
  ret i1 false
}

; The array of result number %number, with memory of its own, or a reference to the buffer that it shows; null and an
; exception if there is no memory.
define internal ptr @array_of(ptr %results, i64 %number) {
  %place = load ptr, ptr %results[%number]->Result.place
  %rank = load i64, ptr %results[%number]->Result.rank
  %descr = load ptr, ptr %results[%number]->Result.descr
  %element = load i64, ptr %results[%number]->Result.element
  %buffer = load ptr, ptr %place
  %data = load ptr, ptr %place->Array.data
  %sizes = getelementptr %Array, ptr %place, i32 0, i32 $Array.sizes$
  %new = call ptr @soac_host_numpy(i64 $PyArray_NewFromDescr$)
  %type = call ptr @soac_host_numpy(i64 $PyArray_Type$)
  %nd = trunc i64 %rank to i32
  call void @Py_IncRef(ptr %descr)
  for %k < %rank, i64 %count = 1 then %product {
    %product = mul i64 %count, (load i64, ptr %sizes[%k])
  }
  %shared = call i1 @seen_before(ptr %results, i64 %number, ptr %buffer)
  goto %show unless or i1 (icmp slt i64 %count, $SMALL$), %shared
  %own = call ptr %new(ptr %type, ptr %descr, i32 %nd, ptr %sizes, ptr null, ptr null, i32 0, ptr null)
  ret ptr null if icmp eq ptr %own, null
  %own_data = load ptr, ptr %own->PyArrayObject.data
  call void @llvm.memcpy.p0.p0.i64(ptr %own_data, ptr %data, i64 (mul i64 %count, %element), i1 false)
  ret ptr %own
show:
  %seen = call ptr %new(ptr %type, ptr %descr, i32 %nd, ptr %sizes, ptr null, ptr %data, i32 $NPY_ARRAY_CARRAY$, ptr null)
  ret ptr null if icmp eq ptr %seen, null
  %capsule = call ptr @PyCapsule_New(ptr %buffer, ptr null, ptr @shown_no_more)
  goto %forget if icmp eq ptr %capsule, null
  store i64 (add i64 (load i64, ptr %buffer), 1), ptr %buffer
  %set = call ptr @soac_host_numpy(i64 $PyArray_SetBaseObject$)
  goto %forget if icmp slt i32 (call i32 %set(ptr %seen, ptr %capsule)), 0
  ret ptr %seen
forget:
  call void @Py_DecRef(ptr %seen)
  ret ptr null
}

; Release the results, of which a call that failed may have made some.
define void @soac_host_forget(ptr %results, i64 %count) {
  for %k < %count {
    goto %next.k if icmp sle i64 (load i64, ptr %results[%k]->Result.rank), 0
    call void @soac_host_release(ptr (load ptr, ptr %results[%k]->Result.place))
  }
}

; The list of results; null and an exception if there is no memory. No buffer is left in the state.
define ptr @soac_host_results(ptr %results, i64 %count) {
  %list = call ptr @PyList_New(i64 %count)
  goto %fail if icmp eq ptr %list, null
  for %k < %count {
    goto %array if icmp sgt i64 (load i64, ptr %results[%k]->Result.rank), 0
  scalar:
    %descr = load ptr, ptr %results[%k]->Result.descr
    %make = call ptr @soac_host_numpy(i64 $PyArray_Scalar$)
    %value = call ptr %make(ptr (load ptr, ptr %results[%k]->Result.place), ptr %descr, ptr null)
    br label %made
  array:
    %shown = call ptr @array_of(ptr %results, i64 %k)
  made:
    %object = phi ptr [ %value, %scalar ], [ %shown, %array ]
    goto %drop if icmp eq ptr %object, null
    %stored = call i32 @PyList_SetItem(ptr %list, i64 %k, ptr %object)
  }
  br label %done
drop:
  call void @Py_DecRef(ptr %list)
fail:
  call void @soac_host_forget(ptr %results, i64 %count)
  ret ptr null
done:
  call void @soac_host_forget(ptr %results, i64 %count)
  ret ptr %list
}
