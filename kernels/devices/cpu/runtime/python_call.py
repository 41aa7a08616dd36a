"""Calls of native host programs from Python without Python: arguments checked, and results made, by machine code.

    soac_host_call (self, args, count)  →  a list of the results, or -1: not such arguments, or the status of a failure

What a call in Python touches of memory costs a hundred microseconds and more where other work has filled the caches.
So an entry has a builtin function: its `self` names a *head* (`Head`), which says where the state is, what the
arguments must be, and what the results are. Only arrays and scalars of exactly the types of the entry suit; what else
there is, and every message, is the business of the callers (`devices/cpu/executable.py`). The head's turn word keeps a
second call out that comes from another thread, or from a signal handler.

Arrays and scalars are read as the layouts of NumPy's C interface say: PyArrayObject_fields and the scalar objects,
behind the header of every object. They and its functions are a binary interface, the same since 1.7. Results:
`python_results.py`.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

import numpy as np

from .....ir.types import Prim
from .python_results import results_text

UNSUITED = -1
"""The result of a call whose arguments do not suit, or that found another one under way."""

API = {"array_type": 2, "scalar_of": 60, "array_of": 94, "set_base": 282}
"""Places in the table of NumPy's C interface."""

INTERPRETER = (
    "PyCapsule_GetPointer", "PyCapsule_New", "PyErr_Occurred", "PyList_New", "PyList_SetItem", "PyLong_FromLongLong",
    "PyThread_get_thread_ident", "Py_DecRef", "Py_IncRef",
)  # fmt: skip
"""What the code calls of the interpreter."""

SCALARS = {
    Prim.BOOL: 1, Prim.U8: 1, Prim.U16: 2, Prim.F16: 2, Prim.U32: 3, Prim.F32: 3, Prim.I8: 4, Prim.I16: 5,
    Prim.I32: 6, Prim.I64: 7, Prim.U64: 7, Prim.F64: 7,
}  # fmt: skip
"""How the value of a scalar becomes a word: by width, and whether the sign is extended."""


class Head:
    """The words of a head. Arguments: for each its type, kind (the rank, or -1 minus `SCALARS`) and word in the state;
    then pairs of words that must be equal, words with the value they must have, sizes with the words that give them,
    each after their number. Results: their number; for each its word, rank, type and bytes of an element."""

    TURN = 0  # address of a word: 1 while a call is under way
    CODE = 1
    STATE = 2
    ARGUMENTS = 3  # table of arguments
    COUNT = 4  # how many
    RESULTS = 5  # table of results
    WORKERS = 6  # address of the number of workers that were started
    HELPERS = 7  # how many a launch may use
    SIZE = 8


def constants() -> dict[str, int]:
    """What stands in the text."""
    head = {f"HEAD_{name}": word for name, word in vars(Head).items() if isinstance(word, int)}
    header = object.__basicsize__
    return head | {
        "HEADER": header, "TYPE_AT": header - 8, "UNSUITED": UNSUITED,
        **{f"API_{name}": at for name, at in API.items()},
    }  # fmt: skip


def numpy_table() -> int:
    """The address of NumPy's C interface."""
    package = "numpy.core" if np.__version__.startswith("1.") else "numpy._core"
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return pointer(importlib.import_module(f"{package}._multiarray_umath")._ARRAY_API, None)


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (("name", ctypes.c_char_p), ("code", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


FASTCALL = 0x80  # METH_FASTCALL
_METHODS: dict[int, _Method] = {}  # a definition must outlive its functions


def builtin(code: int, head: ctypes.Array[ctypes.c_int64]) -> Any:
    """The function at the address `code` with a head, which must outlive it, as a builtin of Python."""
    method = _METHODS.setdefault(code, _Method(b"call", code, FASTCALL, None))
    capsule, function = ctypes.pythonapi.PyCapsule_New, ctypes.pythonapi.PyCFunction_NewEx
    capsule.restype, capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    function.restype, function.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return function(ctypes.addressof(method), capsule(ctypes.addressof(head), None, None), None)


def call_text() -> str:
    return results_text() + _CALLS


_CALLS = """
@numpy = internal global ptr null
@main_thread = internal global i64 0

declare ptr @PyCapsule_GetPointer(ptr, ptr)
declare ptr @PyErr_Occurred()
declare ptr @PyLong_FromLongLong(i64)
declare i64 @PyThread_get_thread_ident()

; The table of NumPy's C interface, and the main thread.
define i64 @soac_host_know(i64 %table, i64 %main) {
  %pointer = inttoptr i64 %table to ptr
  store ptr %pointer, ptr @numpy
  store i64 %main, ptr @main_thread
  ret i64 0
}

define internal ptr @numpy_at(i64 %k) {
  %table = load ptr, ptr @numpy
  %place = getelementptr ptr, ptr %table, i64 %k
  %found = load ptr, ptr %place
  ret ptr %found
}

; A word of a table.
define internal i64 @word(ptr %table, i64 %k) alwaysinline {
  %place = getelementptr i64, ptr %table, i64 %k
  %found = load i64, ptr %place
  ret i64 %found
}

define internal ptr @pointer(ptr %table, i64 %k) alwaysinline {
  %place = getelementptr i64, ptr %table, i64 %k
  %found = load ptr, ptr %place
  ret ptr %found
}

; ---- arguments

; The value of a scalar object as a word.
define internal i64 @scalar_word(ptr %object, i64 %how) {
entry:
  %value = getelementptr i8, ptr %object, i64 $HEADER$
  switch i64 %how, label %wide [ i64 1, label %u8 i64 2, label %u16 i64 3, label %u32 i64 4, label %i8
                                 i64 5, label %i16 i64 6, label %i32 ]
u8:
  %v1 = load i8, ptr %value
  %w1 = zext i8 %v1 to i64
  ret i64 %w1
u16:
  %v2 = load i16, ptr %value
  %w2 = zext i16 %v2 to i64
  ret i64 %w2
u32:
  %v3 = load i32, ptr %value
  %w3 = zext i32 %v3 to i64
  ret i64 %w3
i8:
  %v4 = load i8, ptr %value
  %w4 = sext i8 %v4 to i64
  ret i64 %w4
i16:
  %v5 = load i16, ptr %value
  %w5 = sext i16 %v5 to i64
  ret i64 %w5
i32:
  %v6 = load i32, ptr %value
  %w6 = sext i32 %v6 to i64
  ret i64 %w6
wide:
  %v7 = load i64, ptr %value
  ret i64 %v7
}

; One argument into its words; false if it does not suit: an array of another type, rank or layout, another scalar.
define internal i1 @put_argument(ptr %object, ptr %wanted, ptr %state) {
entry:
  %type_place = getelementptr i8, ptr %object, i64 $TYPE_AT$
  %type = load ptr, ptr %type_place
  %asked = call ptr @pointer(ptr %wanted, i64 0)
  %kind = call i64 @word(ptr %wanted, i64 1)
  %at = call i64 @word(ptr %wanted, i64 2)
  %target = getelementptr i64, ptr %state, i64 %at
  %is_scalar = icmp slt i64 %kind, 0
  br i1 %is_scalar, label %scalar, label %array
scalar:
  %same = icmp eq ptr %type, %asked
  br i1 %same, label %value, label %bad
value:
  %how = sub i64 -1, %kind
  %found = call i64 @scalar_word(ptr %object, i64 %how)
  store i64 %found, ptr %target
  ret i1 true
array:
  %array_type = call ptr @numpy_at(i64 $API_array_type$)
  %is_array = icmp eq ptr %type, %array_type
  br i1 %is_array, label %look, label %bad
look:
  %fields = getelementptr i8, ptr %object, i64 $HEADER$
  %data = load i64, ptr %fields
  %rank_place = getelementptr i8, ptr %fields, i64 8
  %rank = load i32, ptr %rank_place
  %wide_rank = sext i32 %rank to i64
  %sizes_place = getelementptr i8, ptr %fields, i64 16
  %sizes = load ptr, ptr %sizes_place
  %descr_place = getelementptr i8, ptr %fields, i64 40
  %descr = load ptr, ptr %descr_place
  %flags_place = getelementptr i8, ptr %fields, i64 48
  %flags = load i32, ptr %flags_place
  %dense_bits = and i32 %flags, 257
  %dense = icmp eq i32 %dense_bits, 257
  %typed = icmp eq ptr %descr, %asked
  %ranked = icmp eq i64 %wide_rank, %kind
  %first = and i1 %dense, %typed
  %fits = and i1 %first, %ranked
  br i1 %fits, label %place, label %bad
place:
  store i64 %data, ptr %target
  br label %each
each:
  %k = phi i64 [ 0, %place ], [ %k1, %go ]
  %more = icmp slt i64 %k, %kind
  br i1 %more, label %go, label %fine
go:
  %size = call i64 @word(ptr %sizes, i64 %k)
  %k1 = add i64 %k, 1
  %size_word = getelementptr i64, ptr %target, i64 %k1
  store i64 %size, ptr %size_word
  br label %each
fine:
  ret i1 true
bad:
  ret i1 false
}

; All arguments; false where one does not suit, or sizes do not fit each other.
define internal i1 @put_arguments(ptr %table, i64 %count, ptr %args, ptr %state) {
entry:
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %k1, %go ]
  %at = phi ptr [ %table, %entry ], [ %next, %go ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %go, label %equalities
go:
  %object = call ptr @pointer(ptr %args, i64 %k)
  %next = getelementptr i64, ptr %at, i64 3
  %k1 = add i64 %k, 1
  %suits = call i1 @put_argument(ptr %object, ptr %at, ptr %state)
  br i1 %suits, label %each, label %bad
equalities:
  %equal_count = load i64, ptr %at
  br label %equal
equal:
  %e = phi i64 [ 0, %equalities ], [ %e1, %compare ]
  %pair = phi ptr [ %at, %equalities ], [ %pair2, %compare ]
  %more_equal = icmp slt i64 %e, %equal_count
  br i1 %more_equal, label %compare, label %constants
compare:
  %a = call i64 @word(ptr %pair, i64 1)
  %b = call i64 @word(ptr %pair, i64 2)
  %pair2 = getelementptr i64, ptr %pair, i64 2
  %e1 = add i64 %e, 1
  %x = call i64 @word(ptr %state, i64 %a)
  %y = call i64 @word(ptr %state, i64 %b)
  %same = icmp eq i64 %x, %y
  br i1 %same, label %equal, label %bad
constants:
  %fixed_place = getelementptr i64, ptr %pair, i64 1
  %fixed_count = load i64, ptr %fixed_place
  br label %fixed
fixed:
  %f = phi i64 [ 0, %constants ], [ %f1, %hold ]
  %known = phi ptr [ %fixed_place, %constants ], [ %known2, %hold ]
  %more_fixed = icmp slt i64 %f, %fixed_count
  br i1 %more_fixed, label %hold, label %sizes
hold:
  %w = call i64 @word(ptr %known, i64 1)
  %n = call i64 @word(ptr %known, i64 2)
  %known2 = getelementptr i64, ptr %known, i64 2
  %f1 = add i64 %f, 1
  %found = call i64 @word(ptr %state, i64 %w)
  %holds = icmp eq i64 %found, %n
  br i1 %holds, label %fixed, label %bad
sizes:
  %sizes_place = getelementptr i64, ptr %known, i64 1
  %sizes_count = load i64, ptr %sizes_place
  br label %size
size:
  %s = phi i64 [ 0, %sizes ], [ %s1, %give ]
  %giver = phi ptr [ %sizes_place, %sizes ], [ %giver2, %give ]
  %more_sizes = icmp slt i64 %s, %sizes_count
  br i1 %more_sizes, label %give, label %fine
give:
  %to = call i64 @word(ptr %giver, i64 1)
  %from = call i64 @word(ptr %giver, i64 2)
  %giver2 = getelementptr i64, ptr %giver, i64 2
  %s1 = add i64 %s, 1
  %value = call i64 @word(ptr %state, i64 %from)
  %target = getelementptr i64, ptr %state, i64 %to
  store i64 %value, ptr %target
  br label %size
fine:
  ret i1 true
bad:
  ret i1 false
}

; ---- a call

; See above. A status leaves the turn taken, until the caller has read what the state says of the failure.
define ptr @soac_host_call(ptr %self, ptr %args, i64 %count) {
entry:
  %head = call ptr @PyCapsule_GetPointer(ptr %self, ptr null)
  %state = call ptr @pointer(ptr %head, i64 $HEAD_STATE$)
  %results = call ptr @pointer(ptr %head, i64 $HEAD_RESULTS$)
  %turn = call ptr @pointer(ptr %head, i64 $HEAD_TURN$)
  %wanted = call i64 @word(ptr %head, i64 $HEAD_COUNT$)
  %helpers = call i64 @word(ptr %head, i64 $HEAD_HELPERS$)
  %workers_place = call ptr @pointer(ptr %head, i64 $HEAD_WORKERS$)
  %workers = load i64, ptr %workers_place
  %counted = icmp eq i64 %count, %wanted
  %started = icmp sge i64 %workers, %helpers
  %ready = and i1 %counted, %started
  br i1 %ready, label %enter, label %unsuited
enter:
  %before = atomicrmw xchg ptr %turn, i64 1 acquire
  %free = icmp eq i64 %before, 0
  br i1 %free, label %look, label %unsuited
look:
  %table = call ptr @pointer(ptr %head, i64 $HEAD_ARGUMENTS$)
  %suits = call i1 @put_arguments(ptr %table, i64 %wanted, ptr %args, ptr %state)
  br i1 %suits, label %run, label %give_up
give_up:
  store atomic i64 0, ptr %turn release, align 8
  br label %unsuited
unsuited:
  %no = call ptr @PyLong_FromLongLong(i64 $UNSUITED$)
  ret ptr %no
run:
  %thread = call i64 @PyThread_get_thread_ident()
  %main = load i64, ptr @main_thread
  %is_main = icmp eq i64 %thread, %main
  %listens = zext i1 %is_main to i64
  %listen_place = getelementptr i64, ptr %state, i64 $LISTEN_WORD$
  store i64 %listens, ptr %listen_place
  %traced_place = getelementptr i64, ptr %state, i64 $TRACED_WORD$
  store i64 0, ptr %traced_place
  %code = call ptr @pointer(ptr %head, i64 $HEAD_CODE$)
  %status = call i64 @soac_host_enter(ptr %code, ptr %state)
  %fine = icmp eq i64 %status, $FINE$
  br i1 %fine, label %show, label %failed
show:
  %list = call ptr @soac_host_results(ptr %results, ptr %state)
  store atomic i64 0, ptr %turn release, align 8
  ret ptr %list
failed:
  call void @soac_host_forget(ptr %results, ptr %state)
  %raised = call ptr @PyErr_Occurred()
  %quiet = icmp eq ptr %raised, null
  br i1 %quiet, label %tell, label %raise
tell:
  %told = call ptr @PyLong_FromLongLong(i64 %status)
  ret ptr %told
raise:
  store atomic i64 0, ptr %turn release, align 8
  ret ptr null
}
"""
