-- get_bit and set_bit, also of floats.
-- ==
-- input { 133u8 -2.0f32 }
-- output { 1 1 141u8 132u8 1 -2.0f32 }
-- input { 8u8 1.5f32 }
-- output { 0 0 8u8 8u8 0 -1.5f32 }

def main (x: u8) (f: f32): (i32, i32, u8, u8, i32, f32) =
  (u8.get_bit 0 x, u8.get_bit 7 x, u8.set_bit 3 x 1, u8.set_bit 0 x 0, f32.get_bit 31 f, f32.set_bit 31 f 1)
