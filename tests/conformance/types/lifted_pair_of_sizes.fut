-- Sizes that a function chooses, shared by data and by a function beside it, where a lifted parameter stands for both.
-- ==
-- input { 2i64 3i64 } output { 6i64 }

def rows (n: i64) (m: i64) : ([n][m]i64, [n][m]i64 -> i64) = (replicate n (replicate m 1), \b -> i64.sum (flatten b))
def call = uncurry rows
def main (x: i64) (y: i64) = let (a, f) = call (x, y) in f a
