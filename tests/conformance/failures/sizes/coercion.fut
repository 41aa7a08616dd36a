-- `:>` that does not hold.
-- ==
-- input { [10, 20, 30] 3i64 }
-- output { [10, 20, 30] }
-- input { [10, 20, 30] 2i64 }
-- error: R0105.*3.*2|R0105.*2.*3
-- input { empty([0]i32) 1i64 }
-- error: R0105

def main (xs: []i32) (n: i64): [n]i32 = xs :> [n]i32
