-- A function where a type parameter that is not lifted stands.
-- ==
-- error: E0218

def pair 'a (x: a) = (x, x)
def main (x: i32) = (pair (\y -> y + x)).0 x
