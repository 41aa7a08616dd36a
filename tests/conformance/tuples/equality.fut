-- Tuples are equal if their parts are.
-- ==
-- input { 1 1 }
-- output { true false true }
-- input { 1 2 }
-- output { false true true }

def main (x: i32) (y: i32) = ((x, y) == (y, x), (x, true) != (y, true), (x, (y, 1)) == (x, (y, 1)))
