-- Of a sum whose part goes out of scope nothing is known but that it exists: it is no sum any more.
-- ==
-- error: E0203.*`first_of`

def longer n = let (m, _) = (n * 2, 'a') in (iota (m + 1), \_ -> iota m)
def first_of [n] (_: [n + 1]i64) = n
def main (n: i64) = let (xs, _) = longer n in first_of xs
