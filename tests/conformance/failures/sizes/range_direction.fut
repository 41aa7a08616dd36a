-- Ranges in the wrong direction.
-- ==
-- input { 0i64 6i64 2i64 }
-- output { [0i64, 2i64, 4i64] }
-- input { 0i64 6i64 0i64 }
-- error: R01
-- input { 0i64 6i64 -1i64 }
-- error: R01

def main (a: i64) (b: i64) (s: i64): []i64 = a..s..<b
