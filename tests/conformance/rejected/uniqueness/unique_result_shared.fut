-- Both parts of a unique result are one array.
-- ==
-- error: E0222

def main (n: i64): (*[n]i64, *[n]i64) = let a = iota n in (a, a)
