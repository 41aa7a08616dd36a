-- A failure inside a function whose result decides nothing but whose branch is not taken.
-- ==
-- input { 1 }
-- output { 5 }
-- input { 2 }
-- output { 10 }
-- input { 0 }
-- output { 0 }

def f (x: i32): i32 = if x > 0 then 10 / (x - 1) else 0
def main (x: i32): i32 = if x == 1 then 5 else f x
