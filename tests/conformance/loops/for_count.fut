-- A counted loop.
-- ==
-- input { 0 }
-- output { 0 }
-- input { 1 }
-- output { 0 }
-- input { 5 }
-- output { 30 }
-- input { 100 }
-- output { 328350 }

def main (n: i32): i32 = loop s = 0 for i < n do s + i * i
