-- Division by zero in a round of a loop.
-- ==
-- input { 3 }
-- output { 183 }
-- input { 4 }
-- error: R0102
-- input { 0 }
-- output { 0 }

def main (n: i32): i32 = loop s = 0 for i < n do s + 100 / (3 - i)
