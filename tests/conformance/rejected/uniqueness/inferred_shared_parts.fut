-- Parts of a result that turn out to be one array.
-- ==
-- error: E0209.*`q`

def f (n: i64) = let a = iota n in (a, a)
def main (n: i64) = let (p, q) = f n let p[0] = 9 in (p, q)
