-- The same in a loop without rounds.
-- ==
-- input { 2 5 }
-- output { 5 }
-- input { 0 0 }
-- output { 1 }
-- input { 1 0 }
-- error: R0102

def main (n: i32) (y: i32): i32 = loop s = 1 for _i < n do s + 10 / y
