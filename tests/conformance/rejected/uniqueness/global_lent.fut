-- A function may give out an array of the program's own; nobody may consume what it gives.
-- ==
-- error: E0221

def table: [3]i32 = [1, 2, 3]
def get (i: i32) = (table, i)
def main (i: i32) = (get i).0 with [0] = 5
