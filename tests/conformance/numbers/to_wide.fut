-- to_i64 and to_f64.
-- ==
-- input { -3i8 4294967295u32 2.5f32 }
-- output { -3i64 4294967295i64 4294967295.0 2.5 2i64 }

def main (a: i8) (b: u32) (c: f32) = (i8.to_i64 a, u32.to_i64 b, u32.to_f64 b, f32.to_f64 c, f32.to_i64 c)
