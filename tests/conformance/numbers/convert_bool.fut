-- Truth values and numbers.
-- ==
-- input { true 0 0.0f32 }
-- output { 1 1.0 1u8 false false true }
-- input { false -3 0.5f32 }
-- output { 0 0.0 0u8 true true false }
-- input { true 256 f32.nan }
-- output { 1 1.0 1u8 true true true }

def main (b: bool) (x: i32) (y: f32) = (i32.bool b, f64.bool b, u8.bool b, bool.i32 x, bool.f32 y, bool.bool b)
