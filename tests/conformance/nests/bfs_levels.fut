-- Levels of a graph by repeated relaxation.
-- ==
-- input {
--   [0i64, 1i64, 2i64, 0i64, 4i64] [1i64, 2i64, 3i64, 4i64, 3i64] [false, false, false, false, false, false]
-- }
-- output { [0, 1, 2, 2, 1, 1000000] }
-- input { empty([0]i64) empty([0]i64) [false] }
-- output { [0] }
-- input { empty([0]i64) empty([0]i64) empty([0]bool) }
-- output { empty([0]i32) }

def main [n][m] (from: [m]i64) (to: [m]i64) (_: [n]bool): [n]i32 = loop d = tabulate n (\i -> if i == 0 then 0 else 1000000) for _i < n do reduce_by_index (copy d) i32.min 1000000 to (map (\f -> d[f] + 1) from)
