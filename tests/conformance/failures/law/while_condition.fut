-- A condition that fails only after the loop's end.
-- ==
-- input { [1, 2, 0] }
-- output { 2i64 }
-- input { [1, 2, 3] }
-- output { 3i64 }
-- input { empty([0]i32) }
-- output { 0i64 }

def main (xs: []i32): i64 = loop i = 0 while i < length xs && xs[i] > 0 do i + 1
