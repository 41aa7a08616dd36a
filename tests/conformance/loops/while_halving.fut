-- A while loop.
-- ==
-- input { 0 }
-- output { 0 0 }
-- input { 1 }
-- output { 1 0 }
-- input { 2 }
-- output { 1 1 }
-- input { 17 }
-- output { 1 4 }
-- input { 1000000 }
-- output { 1 19 }

def main (x: i32): (i32, i32) = loop (x, c) = (x, 0) while x > 1 do (x / 2, c + 1)
