-- A constant definition that fails only matters when it is needed.
-- ==
-- input { 0 }
-- output { -1 }
-- input { 3 }
-- output { 3 }

def k (n: i32): i32 = 10 / n
entry main (n: i32): i32 = if n == 0 then -1 else k n
