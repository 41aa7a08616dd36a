-- The branch that is not taken must not fail in any element.
-- ==
-- input { [10, 20, 30] [-1i64, 0i64, 3i64, 2i64, 1099511627776i64] }
-- output { [0, 10, 0, 30, 0] }

def main (xs: []i32) (is: []i64): []i32 = map (\i -> if i >= 0 && i < length xs then xs[i] else 0) is
