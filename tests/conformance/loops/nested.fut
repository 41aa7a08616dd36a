-- Loops in loops; the inner bound depends on the outer counter.
-- ==
-- input { 0 }
-- output { 0 }
-- input { 1 }
-- output { 0 }
-- input { 2 }
-- output { 0 }
-- input { 20 }
-- output { 16815 }

def main (n: i32): i32 = loop s = 0 for i < n do loop s for j < i do s + i * j
