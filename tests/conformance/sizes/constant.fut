-- A size that is a top-level constant.
-- ==
-- input { [46, 0, -45, 10, -36] }
-- output { [92, 0, -90, 20, -72] [2, 2, 2, 2, 2] }

def k: i64 = 5
def f (xs: [k]i32): [k]i32 = map (* 2) xs
def main (xs: [k]i32) = (f xs, f (replicate k 1))
