-- The part of a result that is not unique shares data with the argument.
-- ==
-- error: E0209.*`q`

def f (xs: []i32) (n: i64): (*[n]i64, []i32) = (iota n, xs)
def main (xs: *[]i32) = let (p, q) = f xs 3 let xs[0] = 9 in (p, q)
