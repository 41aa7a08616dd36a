-- A function that comes back and takes arrays of a size that went out of scope, which no value beside it shows.
-- ==
-- error: E0226

def pairing n = let (m, _) = (n * 2, 'a') in (iota (m + 1), zip (iota m))
def main (n: i64) = (pairing n).0
