-- Values of every type go in and out.
-- ==
-- input { -1i8 -2i16 -3 -4i64 5u8 6u16 7u32 18446744073709551615u64 0.5f16 1.5f32 2.5 true }
-- output { true 2.5 1.5f32 0.5f16 18446744073709551615u64 7u32 6u16 5u8 -4i64 -3 -2i16 -1i8 }

def main (a: i8) (b: i16) (c: i32) (d: i64) (e: u8) (f: u16) (g: u32) (h: u64) (i: f16) (j: f32) (k: f64) (l: bool) = (l, k, j, i, h, g, f, e, d, c, b, a)
