-- A negative size in one element of a map.
-- ==
-- input { [0i64, 4i64] }
-- output { [0i64, 6i64] }
-- input { [3i64, -2i64, 4i64] }
-- error: R0104.*-2

def main (ns: []i64): []i64 = map (\n -> i64.sum (iota n)) ns
