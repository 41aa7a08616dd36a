-- The short conversions between i32 and floats, and `not`.
-- ==
-- input { [1, -7] [2.75f32, -2.75f32] [true, false] }
-- output { [0.5f32, -3.5f32] [2, -2] [0.25f64, -1.75f64] [2, -2] [false, true] }

def main (is: []i32) (xs: []f32) (bs: []bool) =
  (map ((/ 2) <-< r32) is, map t32 xs, map ((/ 4) <-< r64) is, map (t64 <-< f64.f32) xs, map not bs)
