-- `&&` and `||` do not look at the right operand when the left one decides.
-- ==
-- input { [1, -1] 0i64 }
-- output { true true }
-- input { [1, -1] 1i64 }
-- output { false false }
-- input { [1, -1] 2i64 }
-- output { false true }
-- input { [1, -1] 100i64 }
-- output { false true }

def main (xs: []i32) (i: i64): (bool, bool) = (i < length xs && xs[i] > 0, i >= length xs || xs[i] > 0)
