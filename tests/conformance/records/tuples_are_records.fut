-- A tuple is a record with the fields 0, 1, ..
-- ==
-- input { 0 }
-- output { 0 0 1 0 }
-- input { 1 }
-- output { 1 -1 2 1 }
-- input { -7 }
-- output { -7 7 -6 -7 }
-- input { 100 }
-- output { 100 -100 101 100 }

def f (p: {0: i32, 1: bool}) = if p.1 then p.0 else -p.0
def main (x: i32) = (f (x, true), f (x, false), {0 = x, 1 = x + 1}.1, ({1 = true, 0 = x}).0)
