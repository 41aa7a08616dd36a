-- What takes an array as long as another argument says is not a function of any array.
-- ==
-- error: E0203

def use (f: i64 -> []i32 -> i32) (k: i32) = f 0 [k]
def last_of (n: i64) (xs: [n]i32) = xs[n - 1]
def main (k: i32) = use last_of k
