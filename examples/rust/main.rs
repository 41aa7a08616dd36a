// A matrix product by the library of programs/matmul.soac: both versions, and a failure. The library first, then this:
//
//   soac build programs/matmul.soac -o build/matmul
//   rustc -O -L native=build/matmul examples/rust/main.rs -o build/product && build/product

use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::{ptr, slice};

#[repr(C)]
struct Config {
    threads: i64,
    target: *const c_char,
}

#[repr(C)]
struct FailureInfo {
    code: *const c_char,
    message: *const c_char,
    file: *const c_char,
    line: i64,
    column: i64,
    calls: *const c_char,
    kinds: *const c_char,
    values: *const u64,
}

#[repr(C)]
struct Array2 {
    data: *mut f32,
    shape: [i64; 2],
    owner: *mut c_void,
}

#[link(name = "matmul", kind = "static")]
#[link(name = "m")]
extern "C" {
    fn matmul_context_new(config: *const Config) -> *mut c_void;
    fn matmul_context_free(context: *mut c_void);
    fn matmul_failure(context: *mut c_void) -> *const FailureInfo;
    fn matmul_set(context: *mut c_void, name: *const c_char, value: i64) -> c_int;
    fn matmul_release(owner: *mut c_void);
    fn matmul_entry_main(context: *mut c_void, result: *mut Array2, xss: *const Array2, yss: *const Array2) -> c_int;
}

struct Matrix {
    rows: usize,
    columns: usize,
    elements: Vec<f32>,
}

struct Context(*mut c_void);

impl Drop for Context {
    fn drop(&mut self) {
        unsafe { matmul_context_free(self.0) }
    }
}

impl Context {
    fn new(threads: i64) -> Result<Context, String> {
        let config = Config { threads, target: ptr::null() };
        let context = Context(unsafe { matmul_context_new(&config) });
        if context.0.is_null() {
            return Err("out of memory".to_string());
        }
        context.check()?;
        Ok(context)
    }

    fn check(&self) -> Result<(), String> {
        let shown = |text| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
        match unsafe { matmul_failure(self.0).as_ref() } {
            None => Ok(()),
            Some(failure) => Err(format!("{}: {}", shown(failure.code), shown(failure.message))),
        }
    }

    fn set(&self, name: &str, value: i64) -> Result<(), String> {
        let name = CString::new(name).map_err(|error| error.to_string())?;
        match unsafe { matmul_set(self.0, name.as_ptr(), value) } {
            0 => Ok(()),
            _ => self.check(),
        }
    }

    fn product(&self, a: &Matrix, b: &Matrix) -> Result<Matrix, String> {
        let view = |m: &Matrix| Array2 {
            data: m.elements.as_ptr() as *mut f32, // never written
            shape: [m.rows as i64, m.columns as i64],
            owner: ptr::null_mut(),
        };
        let mut z = Array2 { data: ptr::null_mut(), shape: [0, 0], owner: ptr::null_mut() };
        if unsafe { matmul_entry_main(self.0, &mut z, &view(a), &view(b)) } != 0 {
            self.check()?;
        }
        let (rows, columns) = (z.shape[0] as usize, z.shape[1] as usize);
        let elements = unsafe { slice::from_raw_parts(z.data, rows * columns) }.to_vec();
        unsafe { matmul_release(z.owner) };
        Ok(Matrix { rows, columns, elements })
    }
}

fn main() -> Result<(), String> {
    let context = Context::new(2)?;
    let a = Matrix { rows: 2, columns: 3, elements: vec![1.0, 2.0, 3.0, 3.0, 4.0, 5.0] };
    let b = Matrix { rows: 3, columns: 2, elements: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0] };
    for threshold in [0, i64::MAX] {
        context.set("main.ys.suff_outer_0", threshold)?;
        let c = context.product(&a, &b)?;
        for row in c.elements.chunks(c.columns) {
            println!("{}", row.iter().map(f32::to_string).collect::<Vec<_>>().join(" "));
        }
    }
    if let Err(message) = context.product(&a, &a) {
        println!("{message}");
    }
    Ok(())
}
