-- Local functions, whose parameters hide names; a definition sees what was there before.
-- ==
-- input { 0 }
-- output { 1 23 5 }
-- input { 1 }
-- output { 3 27 5 }
-- input { -7 }
-- output { -13 -5 5 }
-- input { 100 }
-- output { 201 423 5 }

def f (x: i32) = x + 1
def main (x: i32) = let f y = f (y * 2) let x = f x let g x = let x = x + 10 in f x in (x, g x, let f = 5 in f)
