"""The header of a library: its functions and types in C, which C++ takes too."""

from __future__ import annotations

from ..ir.types import Prim
from ..kernels.devices.cpu.library.interface import Entry, Interface, Value

TYPES = {
    Prim.BOOL: "bool",
    Prim.F16: "uint16_t",
    Prim.BF16: "uint16_t",
    Prim.F32: "float",
    Prim.F64: "double",
    **{prim: f"{'u' if prim.is_unsigned else ''}int{prim.bits}_t" for prim in Prim if prim.is_int},
}
"""Scalars and elements; halves are their bits."""


def header(interface: Interface, device: str) -> str:
    """The text of NAME.h, for a library that runs on a device."""
    name = interface.name
    arrays = dict.fromkeys((v.prim, v.rank) for e in interface.entries for v in (*e.params, *e.results) if v.rank)
    parts = (
        HEAD.replace("CONFIG", CONFIGS[device]).replace("NAME", name).replace("GUARD", f"{name.upper()}_H"),
        *(array_type(name, prim, rank) for prim, rank in arrays),
        *(entry(name, one) for one in interface.entries),
        TAIL,
    )
    return "\n".join(parts)


def array_name(name: str, prim: Prim, rank: int) -> str:
    """The type of an array."""
    return f"{name}_{prim.value}_{rank}d"


def array_type(name: str, prim: Prim, rank: int) -> str:
    """An array of a type and rank."""
    return (
        f"typedef struct {{\n  {TYPES[prim]} *data;\n  int64_t shape[{rank}];\n  void *owner;\n}} "
        f"{array_name(name, prim, rank)};\n"
    )


def entry(name: str, one: Entry) -> str:
    """The declaration of an entry: results first, as an assignment has them."""
    listed = (
        f"{name}_context *context",
        *(result(name, v) for v in one.results),
        *(param(name, v) for v in one.params),
    )
    return f"/* {comment(one.signature)} */\nint {one.symbol}({', '.join(listed)});\n"


def comment(text: str) -> str:
    """A text inside of a comment."""
    return text.replace("*/", "* /").replace("/*", "/ *")


def result(name: str, value: Value) -> str:
    """Where a result goes."""
    type_ = array_name(name, value.prim, value.rank) if value.rank else TYPES[value.prim]
    return f"{type_} *{value.name}"


def param(name: str, value: Value) -> str:
    """A parameter: an array by its place."""
    return f"const {result(name, value)}" if value.rank else f"{TYPES[value.prim]} {value.name}"


CONFIGS = {
    "cpu": """\
/* Zeros are the defaults: as many threads as there are cores, the best target that this processor runs. A target is one
   of those in the manifest, such as "x86-64-v3". */
typedef struct {
  int64_t threads;
  const char *target;
} NAME_config;
""",
    "cuda": """\
/* Zeros are the defaults: the first GPU, the best target that it runs. A target is one of those in the manifest, such
   as "sm_90", or "compute_80" for PTX. The driver is looked for when a context is made (libcuda.so.1). An argument may
   be in memory of the GPU: what is to be there must be when the call begins. With `keep` results stay there, too; they
   are complete when the call returns. */
typedef struct {
  int64_t device;
  const char *target;
  int64_t keep;
} NAME_config;
""",
}
"""What a context is made with, by device."""

HEAD = """\
/* Made by soac from a program; needs the libraries of C, mathematics (-lm), threads (-lpthread), and for a GPU -ldl. */
#ifndef GUARD
#define GUARD

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

CONFIG
typedef struct NAME_context NAME_context;

/* What a call failed with. `file` is NULL where there is no place in a source; `calls` has a line for each call that
   led there, or is NULL. `kinds` has a character for each of the values that `message` shows: i for int64_t, u for
   uint64_t, b for a bool, f for the bits of a double. */
typedef struct {
  const char *code;
  const char *message;
  const char *file;
  int64_t line;
  int64_t column;
  const char *calls;
  const char *kinds;
  const uint64_t *values;
} NAME_failure_info;

/* A context has settings and memory of its own; calls on one context wait for each other. NULL: no memory. A context
   that cannot run says why in its failure. `config` may be NULL. */
NAME_context *NAME_context_new(const NAME_config *config);
void NAME_context_free(NAME_context *context);

/* The target whose code runs; NULL if there is none. */
const char *NAME_context_target(NAME_context *context);

/* What the last call failed with, until the next one on the context; NULL if it went well. */
const NAME_failure_info *NAME_failure(NAME_context *context);

/* Thresholds, sizes and numbers of threads, by name. A call returns 0, or 1 if it failed. `set` is for the calls that
   follow; a tuning file sets all of its settings that the program has, or none if a line of it is wrong. */
int64_t NAME_setting_count(void);
const char *NAME_setting_name(int64_t number);
int NAME_get(NAME_context *context, const char *name, int64_t *value);
int NAME_set(NAME_context *context, const char *name, int64_t value);
int NAME_load_tuning(NAME_context *context, const char *path);

/* Arrays are dense, row by row. The memory of an argument stays the caller's and is never written; its `owner` is not
   looked at. The memory of a result is the caller's until NAME_release gets its `owner`, also after the context is
   gone. */
void NAME_release(void *owner);
"""

TAIL = """\
#ifdef __cplusplus
}
#endif

#endif
"""
