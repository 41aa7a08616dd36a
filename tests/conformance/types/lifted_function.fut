-- A type^ abbreviates a function type.
-- ==
-- input { 0 }
-- output { 1 0 }
-- input { 1 }
-- output { 3 2 }
-- input { -7 }
-- output { -13 42 }
-- input { 100 }
-- output { 201 10100 }

type^ op = i32 -> i32 -> i32
def apply (f: op) (x: i32) = f x (x + 1)
def main (x: i32) = (apply (+) x, apply (\a b -> a * b) x)
