"""Libraries in use: a program in Rust for any library, made from its manifest; it is called as the one in C++ is."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RUSTC = shutil.which("rustc")

HEAD = """\
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::{env, fs, mem, process, ptr};

#[repr(C)]
struct Config { threads: i64, target: *const c_char }
#[repr(C)]
struct Info {
    code: *const c_char, message: *const c_char, file: *const c_char, line: i64, column: i64,
    calls: *const c_char, kinds: *const c_char, values: *const u64,
}
#[repr(C)]
struct Array<T, const R: usize> { data: *mut T, shape: [i64; R], owner: *mut c_void }

extern "C" {
    fn NAME_context_new(config: *const Config) -> *mut c_void;
    fn NAME_context_free(context: *mut c_void);
    fn NAME_failure(context: *mut c_void) -> *const Info;
    fn NAME_set(context: *mut c_void, name: *const c_char, value: i64) -> c_int;
    fn NAME_load_tuning(context: *mut c_void, file: *const c_char) -> c_int;
    fn NAME_release(owner: *mut c_void);
DECLARED}

struct Bytes { data: Vec<u8>, at: usize }
impl Bytes {
    fn scalar<T: Copy>(&mut self) -> T {
        let end = self.at + mem::size_of::<T>();
        assert!(end <= self.data.len());
        let value = unsafe { ptr::read_unaligned(self.data[self.at..].as_ptr() as *const T) };
        self.at = end;
        value
    }
    fn array<T: Copy, const R: usize>(&mut self) -> (Array<T, R>, Vec<T>) {
        let mut shape = [0; R];
        for size in shape.iter_mut() { *size = self.scalar(); }
        let count: i64 = shape.iter().product();
        let mut elements: Vec<T> = (0..count).map(|_| self.scalar()).collect();
        (Array { data: elements.as_mut_ptr(), shape, owner: ptr::null_mut() }, elements)
    }
    fn give<T>(&mut self, value: &T) {
        let bytes = unsafe { std::slice::from_raw_parts(value as *const T as *const u8, mem::size_of::<T>()) };
        self.data.extend_from_slice(bytes);
    }
    fn give_array<T, const R: usize>(&mut self, a: &Array<T, R>) {
        self.give(&a.shape);
        let count: i64 = a.shape.iter().product();
        for k in 0..count as usize { self.give(unsafe { &*a.data.add(k) }); }
        unsafe { NAME_release(a.owner) };
    }
}

fn none<T, const R: usize>() -> Array<T, R> { Array { data: ptr::null_mut(), shape: [0; R], owner: ptr::null_mut() } }

fn text(word: &str) -> CString { CString::new(word).unwrap() }

fn failed(context: *mut c_void) -> ! {
    let f = unsafe { &*NAME_failure(context) };
    let shown = |s: *const c_char| if s.is_null() { String::new() } else {
        unsafe { CStr::from_ptr(s) }.to_string_lossy().into_owned()
    };
    let kinds = shown(f.kinds);
    println!("{}\\n{}\\n{}\\n{}\\n{}\\n{}", shown(f.code), shown(f.message), shown(f.file), f.line, f.column, kinds);
    for k in 0..kinds.len() { println!("{}", unsafe { *f.values.add(k) }); }
    process::exit(1)
}

/* entry, in, out, threads, target, tuning file, NAME VALUE .. */
fn main() {
    let words: Vec<String> = env::args().collect();
    let mut input = Bytes { data: fs::read(&words[2]).unwrap(), at: 0 };
    let mut out = Bytes { data: Vec::new(), at: 0 };
    let target = text(&words[5]);
    let target = if words[5].is_empty() { ptr::null() } else { target.as_ptr() };
    let context = unsafe { NAME_context_new(&Config { threads: words[4].parse().unwrap(), target }) };
    if !unsafe { NAME_failure(context) }.is_null() { failed(context) }
    if !words[6].is_empty() && unsafe { NAME_load_tuning(context, text(&words[6]).as_ptr()) } != 0 { failed(context) }
    for pair in words[7..].chunks(2) {
        if unsafe { NAME_set(context, text(&pair[0]).as_ptr(), pair[1].parse().unwrap()) } != 0 { failed(context) }
    }
    match words[1].as_str() {
"""
TAIL = """\
        _ => process::exit(5),
    }
    fs::write(&words[3], &out.data).unwrap();
    unsafe { NAME_context_free(context) };
}
"""


def rust_client(folder: Path, manifest: Mapping[str, Any]) -> Path:
    """The program against the static library."""
    name, source, made = manifest["name"], folder / "client.rs", folder / "client_rust"
    entries = manifest["entries"].items()
    declared = "".join(declaration(entry) for _, entry in entries)
    calls = "".join(call(*entry) for entry in entries)
    source.write_text((HEAD.replace("DECLARED", declared) + calls + TAIL).replace("NAME", name), encoding="utf-8")
    linked = ["-L", f"native={folder}", "-l", f"static={name}", "-l", "m", "-l", "pthread"]
    command = [str(RUSTC), "--edition", "2021", "-D", "warnings", *linked, str(source), "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return made


def declaration(described: Mapping[str, Any]) -> str:
    """The C function of an entry."""
    listed = [f"r{k}: *mut {type_of(v)}" for k, v in enumerate(described["results"])]
    listed += [f"p{k}: {'*const ' * bool(v['rank'])}{type_of(v)}" for k, v in enumerate(described["parameters"])]
    return f"    fn {described['symbol']}({', '.join(['context: *mut c_void', *listed])}) -> c_int;\n"


def call(entry: str, described: Mapping[str, Any]) -> str:
    """One entry of the program: arguments read in order, results written."""
    params, results = described["parameters"], described["results"]
    lines = [f"let (p{k}, _e{k}) = input.array::<{element(v)}, {v['rank']}>();" if v["rank"]
             else f"let p{k}: {type_of(v)} = input.scalar();" for k, v in enumerate(params)]  # fmt: skip
    lines += [f"let mut r{k}: {type_of(v)} = {'none()' if v['rank'] else 'Default::default()'};"
              for k, v in enumerate(results)]  # fmt: skip
    args = (
        *(f"&mut r{k}" for k, _ in enumerate(results)),
        *(f"{'&' * bool(v['rank'])}p{k}" for k, v in enumerate(params)),
    )
    lines.append(f"if unsafe {{ {described['symbol']}({', '.join(('context', *args))}) }} != 0 {{ failed(context) }}")
    lines += [f"out.give{'_array' * bool(v['rank'])}(&r{k});" for k, v in enumerate(results)]
    return f'        "{entry}" => {{\n            ' + "\n            ".join(lines) + "\n        }\n"


def type_of(value: Mapping[str, Any]) -> str:
    return f"Array<{element(value)}, {value['rank']}>" if value["rank"] else element(value)


def element(value: Mapping[str, Any]) -> str:
    return "u16" if value["type"] == "f16" else value["type"]
