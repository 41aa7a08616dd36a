-- A type abbreviation hides sizes, and is opened again.
-- ==
-- input {
--   [[11.5f32, 0.0f32, -11.25f32, 2.5f32], [-9.0f32, 5.0f32, -6.5f32, 7.5f32], [-4.0f32, 9.75f32, -1.5f32,
--   12.25f32]] [2i64, 0i64]
-- }
-- output { [[-4.0f32, 9.75f32, -1.5f32, 12.25f32], [11.5f32, 0.0f32, -11.25f32, 2.5f32]] 3i64 4i64 }
-- input {
--   [[11.5f32, 0.0f32, -11.25f32, 2.5f32, -9.0f32, 5.0f32, -6.5f32, 7.5f32, -4.0f32, 9.75f32, -1.5f32,
--   12.25f32, 1.0f32, -10.5f32, 3.25f32, -8.0f32, 5.75f32]] empty([0]i64)
-- }
-- output { empty([0][17]f32) 1i64 17i64 }

type mat [n] [m] = [n][m]f32
def row [n][m] (a: mat [n] [m]) (i: i64): [m]f32 = a[i]
def main [n][m] (a: mat [n] [m]) (is: []i64) = (map (row a) is, n, m)
