-- `:>` to a number.
-- ==
-- input { [1, 2, 3, 4] }
-- output { [1, 2, 3, 4] }
-- input { [10, 20, 30] }
-- error: R0105.*3.*4|R0105.*4.*3

def main (xs: []i32): [4]i32 = xs :> [4]i32
