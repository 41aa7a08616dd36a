"""Results of native host programs as NumPy's arrays and scalars, as LLVM text.

A large result shows the memory of a buffer of the runtime (`memory.py`); its base is a capsule that gives the
buffer back when the last view dies. A small one, or one that shares its buffer with a result before it, has memory of
NumPy's. The functions of NumPy's C interface that make them are `PyArray_NewFromDescr`, `PyArray_SetBaseObject` and
`PyArray_Scalar`; `python_call.py` says where they are, and what a table of results holds.
"""

from __future__ import annotations

SMALL = 1 << 10
"""Elements of a result below which an array with memory of NumPy's costs less than one with a buffer of ours."""


def results_text() -> str:
    return _RESULTS.replace("$SMALL$", str(SMALL))


_RESULTS = """
declare ptr @PyCapsule_New(ptr, ptr, ptr)
declare ptr @PyList_New(i64)
declare i32 @PyList_SetItem(ptr, i64, ptr)
declare void @Py_DecRef(ptr)
declare void @Py_IncRef(ptr)

; The end of an array that shows a buffer.
define internal void @shown_no_more(ptr %capsule) {
  %buffer = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr null)
  %dropped = call i64 @soac_host_drop(ptr %buffer)
  ret void
}

; Has one of the results before this one the same buffer?
define internal i1 @seen_before(ptr %first, ptr %this, ptr %state, ptr %buffer) {
entry:
  br label %each
each:
  %at = phi ptr [ %first, %entry ], [ %next, %array ], [ %next, %go ]
  %more = icmp ult ptr %at, %this
  br i1 %more, label %go, label %no
go:
  %next = getelementptr i64, ptr %at, i64 4
  %rank = call i64 @word(ptr %at, i64 1)
  %is_array = icmp sgt i64 %rank, 0
  br i1 %is_array, label %array, label %each
array:
  %where = call i64 @word(ptr %at, i64 0)
  %other = call ptr @pointer(ptr %state, i64 %where)
  %same = icmp eq ptr %other, %buffer
  br i1 %same, label %yes, label %each
yes:
  ret i1 true
no:
  ret i1 false
}

; The array of a result, with memory of its own, or a reference to the buffer that it shows; null and an exception if
; there is no memory.
define internal ptr @array_of(ptr %first, ptr %result, ptr %state) {
entry:
  %where = call i64 @word(ptr %result, i64 0)
  %rank = call i64 @word(ptr %result, i64 1)
  %descr = call ptr @pointer(ptr %result, i64 2)
  %element = call i64 @word(ptr %result, i64 3)
  %place = getelementptr i64, ptr %state, i64 %where
  %buffer = call ptr @pointer(ptr %place, i64 0)
  %data = call ptr @pointer(ptr %place, i64 1)
  %sizes = getelementptr i64, ptr %place, i64 2
  %new = call ptr @numpy_at(i64 $API_array_of$)
  %type = call ptr @numpy_at(i64 $API_array_type$)
  %narrow_rank = trunc i64 %rank to i32
  call void @Py_IncRef(ptr %descr)
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %k1, %go ]
  %count = phi i64 [ 1, %entry ], [ %product, %go ]
  %more = icmp slt i64 %k, %rank
  br i1 %more, label %go, label %counted
go:
  %size = call i64 @word(ptr %sizes, i64 %k)
  %product = mul i64 %count, %size
  %k1 = add i64 %k, 1
  br label %each
counted:
  %small = icmp slt i64 %count, $SMALL$
  %shared = call i1 @seen_before(ptr %first, ptr %result, ptr %state, ptr %buffer)
  %apart = or i1 %small, %shared
  br i1 %apart, label %copy, label %show
copy:
  %own = call ptr %new(ptr %type, ptr %descr, i32 %narrow_rank, ptr %sizes, ptr null, ptr null, i32 0, ptr null)
  %no_own = icmp eq ptr %own, null
  br i1 %no_own, label %fail, label %fill
fill:
  %own_data_place = getelementptr i8, ptr %own, i64 $HEADER$
  %own_data = load ptr, ptr %own_data_place
  %bytes = mul i64 %count, %element
  call void @llvm.memcpy.p0.p0.i64(ptr %own_data, ptr %data, i64 %bytes, i1 false)
  ret ptr %own
show:
  %seen = call ptr %new(ptr %type, ptr %descr, i32 %narrow_rank, ptr %sizes, ptr null, ptr %data, i32 1281, ptr null)
  %not_seen = icmp eq ptr %seen, null
  br i1 %not_seen, label %fail, label %base
base:
  %capsule = call ptr @PyCapsule_New(ptr %buffer, ptr null, ptr @shown_no_more)
  %no_capsule = icmp eq ptr %capsule, null
  br i1 %no_capsule, label %forget, label %bind
bind:
  %old = atomicrmw add ptr %buffer, i64 1 monotonic
  %set = call ptr @numpy_at(i64 $API_set_base$)
  %status = call i32 %set(ptr %seen, ptr %capsule)
  %unset = icmp slt i32 %status, 0
  br i1 %unset, label %forget, label %done
done:
  ret ptr %seen
forget:
  call void @Py_DecRef(ptr %seen)
  br label %fail
fail:
  ret ptr null
}

; Release the results in the state, of which a call that failed may have made some.
define void @soac_host_forget(ptr %results, ptr %state) {
entry:
  %count = load i64, ptr %results
  %first = getelementptr i64, ptr %results, i64 1
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %k1, %next ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %go, label %done
go:
  %offset = mul i64 %k, 4
  %result = getelementptr i64, ptr %first, i64 %offset
  %rank = call i64 @word(ptr %result, i64 1)
  %is_array = icmp sgt i64 %rank, 0
  br i1 %is_array, label %array, label %next
array:
  %where = call i64 @word(ptr %result, i64 0)
  %place = getelementptr i64, ptr %state, i64 %where
  call void @soac_host_release(ptr %place)
  br label %next
next:
  %k1 = add i64 %k, 1
  br label %each
done:
  ret void
}

; The list of results; null and an exception if there is no memory. No buffer is left in the state.
define ptr @soac_host_results(ptr %results, ptr %state) {
entry:
  %count = load i64, ptr %results
  %first = getelementptr i64, ptr %results, i64 1
  %list = call ptr @PyList_New(i64 %count)
  %none = icmp eq ptr %list, null
  br i1 %none, label %fail, label %each
each:
  %k = phi i64 [ 0, %entry ], [ %k1, %put ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %go, label %done
go:
  %offset = mul i64 %k, 4
  %result = getelementptr i64, ptr %first, i64 %offset
  %where = call i64 @word(ptr %result, i64 0)
  %rank = call i64 @word(ptr %result, i64 1)
  %place = getelementptr i64, ptr %state, i64 %where
  %is_array = icmp sgt i64 %rank, 0
  br i1 %is_array, label %array, label %scalar
scalar:
  %descr = call ptr @pointer(ptr %result, i64 2)
  %make = call ptr @numpy_at(i64 $API_scalar_of$)
  %value = call ptr %make(ptr %place, ptr %descr, ptr null)
  br label %made
array:
  %shown = call ptr @array_of(ptr %first, ptr %result, ptr %state)
  br label %made
made:
  %object = phi ptr [ %value, %scalar ], [ %shown, %array ]
  %missing = icmp eq ptr %object, null
  br i1 %missing, label %drop, label %put
put:
  %stored = call i32 @PyList_SetItem(ptr %list, i64 %k, ptr %object)
  %k1 = add i64 %k, 1
  br label %each
drop:
  call void @Py_DecRef(ptr %list)
  br label %fail
fail:
  call void @soac_host_forget(ptr %results, ptr %state)
  ret ptr null
done:
  call void @soac_host_forget(ptr %results, ptr %state)
  ret ptr %list
}
"""
