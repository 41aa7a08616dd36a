-- A counted loop with a negative bound does nothing.
-- ==
-- input { -5 }
-- output { 42 }
-- input { 0 }
-- output { 42 }
-- input { 3 }
-- output { 45 }

def main (n: i32): i32 = loop s = 42 for i < n do s + i
