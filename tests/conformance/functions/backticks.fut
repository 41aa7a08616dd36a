-- Any function as an operator.
-- ==
-- input { 3 9 }
-- output { 6 9 14 }
-- input { -1 -5 }
-- output { 4 -1 10 }

def dist (a: i32) (b: i32) = i32.abs (a - b)
def main (x: i32) (y: i32) = (x `dist` y, x `i32.max` y, x + 1 `dist` y * 2)
