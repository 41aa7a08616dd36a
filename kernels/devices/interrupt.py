"""Stopping work of another thread of this process."""

from __future__ import annotations

import ctypes


def raise_in(thread: int, error: type[BaseException]) -> None:
    """Let the thread with identifier `thread` raise `error` as soon as it runs Python code again."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))
