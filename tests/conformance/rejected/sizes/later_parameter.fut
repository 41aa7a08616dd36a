-- A parameter cannot be as long as a later one says.
-- ==
-- error: scope violation

def with_index xs n = zip xs (iota n)
def main (n: i64) (xs: []i32) = with_index xs n
