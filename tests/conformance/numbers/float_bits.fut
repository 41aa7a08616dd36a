-- Floats as bits and back.
-- ==
-- input { 1.0f32 -2.5 0.5f16 }
-- output { 1065353216u32 13836183955189006336u64 14336u16 -1.0f32 2.0 }
-- input { -0.0f32 0.1 f16.inf }
-- output { 2147483648u32 4591870180066957722u64 31744u16 0.0f32 2.0 }

def main (a: f32) (b: f64) (c: f16) = (f32.to_bits a, f64.to_bits b, f16.to_bits c, f32.from_bits (f32.to_bits a ^ 0x80000000), f64.from_bits 0x4000000000000000)
