-- Both parts of the next value are one array.
-- ==
-- error: E0209

def main (n: i64) = loop (a, b) = (iota n, iota n) for i < 3 do let c = a with [0] = 1 in (c, c)
