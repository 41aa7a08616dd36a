-- A function must not hand out an array of the program's own.
-- ==
-- error: E0222

def table: [3]i32 = [1, 2, 3]
def get (i: i32) = (table, i)
def main (i: i32) = let (t, _) = get i in t[i]
