-- A built-in operator is hidden for the rest of the file, or locally.
-- ==
-- input { 0 }
-- output { 1 0 3 }
-- input { 1 }
-- output { 2 5 3 }
-- input { -7 }
-- output { -6 -35 3 }
-- input { 100 }
-- output { 101 500 100 }

def a (x: i32) = x + 1
def (+) (x: i32) (y: i32) = x * y
def main (x: i32) = (a x, x + 5, let (-) (p: i32) (q: i32) = i32.max p q in x - 3)
