-- Literals in all bases and types.
-- ==
-- input { 0 }
-- output { 31 165u8 1000000i64 4294967295u32 1.5f32 1000.0 0.002 3.0f32 16i16 255u8 -128i8 65 150.0f16 }

def main (_: i32) = (0x1F, 0b1010_0101u8, 1_000_000i64, 0xFFFFFFFFu32, 1.5f32, 1e3, 2e-3f64, 3f32, 0x10i16, 255u8, -128i8, 'A', 1.5e2f16)
