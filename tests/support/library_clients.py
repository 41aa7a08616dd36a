"""Libraries in use: a program in C++ for any library, made from its manifest: it runs an entry on values of a file."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from soac.frontend.source.text import Reach
from soac.kernels.devices.cpu.library.client import DTYPES
from soac.library.build import Order, build_library, targets_of
from soac.pipeline import Compiled, compile_prog

INFINITY = 2**63 - 1
FIVE = ("locvolcalib", "matmul", "spmv", "histogram", "softmax")
"""Programs whose libraries are tried on every version."""

HEAD = """\
#include "NAME.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static FILE *in, *out;
template <typename T> static T scalar() { T value; if (fread(&value, sizeof value, 1, in) != 1) exit(3); return value; }
template <typename T> static void give(T value) { fwrite(&value, sizeof value, 1, out); }
template <typename A> static A array() {
  A a = {};
  size_t count = sizeof *a.data;
  for (auto &size : a.shape) { size = scalar<int64_t>(); count *= size; }
  a.data = static_cast<decltype(a.data)>(malloc(count + 1));
  if (fread(a.data, 1, count, in) != count) exit(3);
  return a;
}
template <typename A> static void give_array(const A &a) {
  size_t count = sizeof *a.data;
  for (auto size : a.shape) { give(size); count *= size; }
  fwrite(a.data, 1, count, out);
  NAME_release(a.owner);
}
static int failed(NAME_context *context) {
  const NAME_failure_info *f = NAME_failure(context);
  printf("%s\\n%s\\n%s\\n%lld\\n%lld\\n%s\\n", f->code, f->message, f->file ? f->file : "", (long long)f->line,
         (long long)f->column, f->kinds);
  for (size_t k = 0; k < strlen(f->kinds); k++) printf("%llu\\n", (unsigned long long)f->values[k]);
  return 1;
}

/* entry, in, out, threads, target, tuning file, NAME VALUE .. */
int main(int argc, char **argv) {
  in = fopen(argv[2], "rb"), out = fopen(argv[3], "wb");
  NAME_config config = {};
  config.FIRST = atoi(argv[4]), config.target = *argv[5] ? argv[5] : nullptr;
  NAME_context *context = NAME_context_new(&config);
  if (NAME_failure(context)) return failed(context);
  if (*argv[6] && NAME_load_tuning(context, argv[6])) return failed(context);
  for (int k = 7; k < argc; k += 2) {
    int64_t now, value = atoll(argv[k + 1]);
    if (NAME_set(context, argv[k], value) || NAME_get(context, argv[k], &now)) return failed(context);
    if (now != value) return 4;
  }
  int status = 5;
"""
TAIL = """\
  if (status == 1) return failed(context);
  fclose(out);
  NAME_context_free(context);
  return status;
}
"""


@dataclass(frozen=True, slots=True)
class Failed:
    """A failure as a client prints it; the values as words."""

    code: str
    message: str
    place: tuple[str, int, int]
    kinds: str
    values: tuple[int, ...]


def built(
    source: Path, folder: Path, archs: Sequence[str], with_wheel: bool = False
) -> tuple[Compiled, dict[str, Any]]:
    """A program as a library in a folder, and its manifest."""
    text = source.read_text(encoding="utf-8")
    compiled = compile_prog(text, str(source), reach=Reach.ANYWHERE)
    build_library(compiled, Order(source.stem, "0.1.0", targets_of(archs), {}, text, with_wheel), folder)
    return compiled, json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


def client(folder: Path, manifest: Mapping[str, Any], linked: str = "static") -> Path:
    """The program against the static or the shared library."""
    name, source, made = manifest["name"], folder / "client.cpp", folder / f"client_{linked}"
    calls = "".join(call(name, *entry) for entry in manifest["entries"].items())
    first = "device" if manifest["device"] == "cuda" else "threads"
    source.write_text((HEAD.replace("FIRST", first) + calls + TAIL).replace("NAME", name), encoding="utf-8")
    library = (
        [str(folder / f"lib{name}.a")] if linked == "static" else [f"-L{folder}", f"-l{name}", f"-Wl,-rpath,{folder}"]
    )
    command = [
        "g++",
        "-std=c++17",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{folder}",
        str(source),
        "-o",
        str(made),
        *library,
    ]
    done = subprocess.run([*command, "-lm", "-lpthread"], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return made


def call(name: str, entry: str, described: Mapping[str, Any]) -> str:
    """One entry of the program: arguments read in order, results written."""
    params, results = described["parameters"], described["results"]
    lines = [f"auto p{k} = {f'array<{array(name, v)}>' if v['rank'] else f'scalar<{c_type(v)}>'}();"
             for k, v in enumerate(params)]  # fmt: skip
    lines += [f"{array(name, v) if v['rank'] else c_type(v)} r{k};" for k, v in enumerate(results)]
    args = (*(f"&r{k}" for k, _ in enumerate(results)), *(f"{'&' * bool(v['rank'])}p{k}" for k, v in enumerate(params)))
    lines.append(f"status = {described['symbol']}({', '.join(('context', *args))});")
    lines += [f"if (!status) give{'_array' * bool(v['rank'])}(r{k});" for k, v in enumerate(results)]
    lines += [f"free(p{k}.data);" for k, v in enumerate(params) if v["rank"]]
    return f'  if (!strcmp(argv[1], "{entry}")) {{\n    ' + "\n    ".join(lines) + "\n  }\n"


def array(name: str, value: Mapping[str, Any]) -> str:
    return f"{name}_{value['type']}_{value['rank']}d"


def c_type(value: Mapping[str, Any]) -> str:
    dtype = DTYPES[value["type"]]
    kinds = {"b": "bool", "f": {2: "uint16_t", 4: "float", 8: "double"}.get(dtype.itemsize, "")}
    return kinds.get(dtype.kind, f"{dtype.name}_t")


def run(
    program: Path, manifest: Mapping[str, Any], entry: str, args: Sequence[Any], settings: Mapping[str, int],
    threads: int = 2, target: str = "", tuning: str = "",
) -> list[Any] | Failed:  # fmt: skip
    """The results of an entry in a process of its own."""
    described = manifest["entries"][entry]
    given, got = program.with_suffix(".in"), program.with_suffix(".out")
    given.write_bytes(b"".join(np.array(np.shape(a), np.int64).tobytes() + np.asarray(a).tobytes() for a in args))
    chosen = [word for name, value in settings.items() for word in (name, str(value))]
    command = [str(program), entry, str(given), str(got), str(threads), target, tuning, *chosen]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    if done.returncode == 1:
        code, message, file, line, column, kinds, *values = done.stdout.split("\n")
        return Failed(code, message, (file, int(line), int(column)), kinds, tuple(int(v) for v in values if v))
    assert done.returncode == 0, (done.returncode, done.stderr)
    return read(got.read_bytes(), described["results"])


def targets_here(program: Path, manifest: Mapping[str, Any]) -> list[str]:
    """The targets of a library that this processor runs: others are refused before anything is looked at."""
    names = [target["name"] for target in manifest["targets"]]
    command = [str(program), "", os.devnull, os.devnull, "1"]
    asked = {name: subprocess.run([*command, name, ""], capture_output=True, text=True, check=False) for name in names}
    return [name for name, done in asked.items() if not done.stdout.startswith("S0101")]


def read(data: bytes, results: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The values of a file that a client wrote."""
    at, values = 0, list[Any]()
    for result in results:
        shape = np.frombuffer(data, np.int64, result["rank"], at)
        at += shape.nbytes
        value = np.frombuffer(data, DTYPES[result["type"]], int(np.prod(shape)), at).reshape(shape)
        at += value.nbytes
        values.append(value if result["rank"] else value[()])
    assert at == len(data)
    return values


def same_bits(got: Sequence[Any], wanted: Sequence[Any]) -> bool:
    """Are these the same values, bit by bit?"""
    return [(v.dtype, v.shape, v.tobytes()) for v in got] == [(v.dtype, v.shape, v.tobytes()) for v in wanted]
