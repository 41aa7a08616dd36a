-- A name inside a tuple is not seen by the caller.
-- ==
-- error: refers to size .n.

def take_all (n: i64, _: bool) (xs: [n]i32) = i32.sum xs
def main [n] (xs: [n]i32) = take_all (n, true) xs
