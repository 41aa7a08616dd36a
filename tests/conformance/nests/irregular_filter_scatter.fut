-- Per element: an array of its own size, filtered, scattered.
-- ==
-- input { empty([0]i64) }
-- output { empty([0]i64) }
-- input { [6i64] }
-- output { [531i64] }
-- input {
--   [6i64, 3i64, 1i64, 7i64, 4i64, 2i64, 8i64, 6i64, 3i64, 0i64, 7i64, 4i64, 2i64, 8i64, 5i64, 3i64, 0i64]
-- }
-- output {
--   [531i64, 31i64, 1i64, 531i64, 31i64, 1i64, 531i64, 531i64, 31i64, 0i64, 531i64, 31i64, 1i64, 531i64,
--   531i64, 31i64, 0i64]
-- }

def main [n] (ks: [n]i64): [n]i64 = map (\k -> let es = filter (\i -> i % 2 == 0) (iota k) let d = scatter (replicate 5 0) es (map (+ 1) es) in d[0] + 10 * d[2] + 100 * d[4]) ks
