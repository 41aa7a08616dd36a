-- Only the function's own parameter says how large the argument would be.
-- ==
-- error: [Aa]mbiguous size

def size_for [n] (_: [n]i64 -> i64) : i64 = n
def main (i: i64) = size_for (\xs -> xs[i])
