-- A sparse matrix by rows: irregular segments by a segmented scan.
-- ==
-- input {
--   [11.5, 0.0, -11.25, 2.5, -9.0, 5.0, -6.5, 7.5, -4.0, 9.75] [0i64, 0i64, 4i64, 3i64, 3i64, 2i64, 2i64,
--   1i64, 0i64, 0i64] [0i64, 3i64, 3i64, 9i64] [9.75, -1.75, 12.25, 0.75, -10.75]
-- }
-- output { [233.0625, 0.0, -75.375, 95.0625] }
-- input { empty([0]f64) empty([0]i64) [0i64] empty([0]f64) }
-- output { [0.0] }
-- input { empty([0]f64) empty([0]i64) empty([0]i64) empty([0]f64) }
-- output { empty([0]f64) }

def main [n][r] (vals: [n]f64) (cols: [n]i64) (starts: [r]i64) (x: []f64): [r]f64 =
  tabulate r (\i -> let lo = starts[i] let hi = if i == r - 1 then n else starts[i + 1]
                    in loop s = 0 for k < hi - lo do s + vals[lo + k] * x[cols[lo + k]])
