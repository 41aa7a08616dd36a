-- Ranges of other integer types, and negative ones.
-- ==
-- input { -2i8 0u16 }
-- output { [-2i8, -1i8, 0i8, 1i8] [0u16, 10u16, 20u16] [-3i64, -2i64, -1i64, 0i64, 1i64, 2i64] }
-- input { 100i8 60000u16 }
-- output {
--   [100i8, 101i8, 102i8, 103i8] [60000u16, 60010u16, 60020u16] [-3i64, -2i64, -1i64, 0i64, 1i64, 2i64]
-- }

def main (a: i8) (b: u16): ([]i8, []u16, []i64) = (a...(a + 3), b..(b + 10)...(b + 25), -3..<3)
