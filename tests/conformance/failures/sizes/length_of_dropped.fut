-- A negative size that comes out as the size of a result.
-- ==
-- input { [1i64, 2i64] 2i64 }
-- output { [[1i64, 2i64], [2i64, 3i64]] }
-- input { [1i64, 2i64] -2i64 }
-- error: R0104.*-2
-- input { empty([0]i64) 0i64 }
-- output { empty([0][0]i64) }

def main (xs: []i64) (m: i64) = map (\x -> map (+ x) (iota m)) xs
