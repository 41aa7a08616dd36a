-- Unit tests of lexing: names with quotes and underscores, operators without blanks.
-- ==
-- input { 0 }
-- output { 0 -2 1 -1 -1 1 }
-- input { 1 }
-- output { 1 -4 2 -2 -2 0 }
-- input { -7 }
-- output { -7 12 -6 6 6 8 }
-- input { 100 }
-- output { 100 -202 101 -101 -101 -99 }

def x' (x_1: i32) = x_1+1
def y_ (a: i32) = a*2
def main (x: i32) = let x'' = x' x in (x''-1, y_ x''* -1, x- -1, !x, -x' x, x'(-x))
