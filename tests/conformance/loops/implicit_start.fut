-- A loop that starts from variables of the same names.
-- ==
-- input { 3 0 }
-- output { 3 1 }
-- input { 3 1 }
-- output { 1 4 }
-- input { 3 10 }
-- output { 290 475 }

def main (a: i32) (n: i32): (i32, i32) = let b = 1 in loop (a, b) for i < n do (b, a + b + i)
