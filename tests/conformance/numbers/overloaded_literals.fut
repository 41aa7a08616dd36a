-- A literal takes the type of its surroundings; integers serve as floats.
-- ==
-- input { 255u8 0.5f32 1i64 }
-- output { 0u8 1.0f32 -2i64 2.5f32 [1.0f32, 0.5f32] 0u8 }
-- input { 3u8 -1.0f32 -1i64 }
-- output { 4u8 -2.0f32 -4i64 2.5f32 [1.0f32, -1.0f32] 3u8 }

def half (x: f32) = x / 2
def main (a: u8) (b: f32) (c: i64) = (a + 1, b * 2, c - 3, half 5, [1, b], if c > 0 then 0 else a)
