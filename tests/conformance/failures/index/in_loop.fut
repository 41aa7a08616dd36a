-- A loop runs past the end.
-- ==
-- input { [10, 20, 30] 3i64 }
-- output { 60 }
-- input { [10, 20, 30] 5i64 }
-- error: R0101.*index \[3\]
-- input { empty([0]i32) 0i64 }
-- output { 0 }

def main (xs: []i32) (n: i64): i32 = loop s = 0 for i < n do s + xs[i]
