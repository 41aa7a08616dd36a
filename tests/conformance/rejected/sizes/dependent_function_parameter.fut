-- The function has to give what the parameter's type promises.
-- ==
-- error: E0203

def make (f: (n: i64) -> [n]i64) (k: i64) : [k]i64 = f k
def main (k: i64) = make (\n -> iota (n + 1)) k
