-- A constant of the program cannot be consumed.
-- ==
-- error: E0221

def table = [1, 2, 3]
def main (i: i64) = table with [i] = 9
