-- A hole fails only where it is reached.
-- ==
-- input { 3 } output { 3 }
-- input { -3 } error: hole
def main (x: i32): i32 = if x > 0 then x else ???
