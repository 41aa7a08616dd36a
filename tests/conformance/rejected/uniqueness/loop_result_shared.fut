-- Two results of a loop that are one array.
-- ==
-- error: E0222

def main (n: i64): (*[]i64, *[]i64) =
  loop _ = (iota 10, iota 10) for _i < n do
    let xs = iota 10 in (xs, xs)
