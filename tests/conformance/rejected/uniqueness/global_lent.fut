-- A function may not give out an array of the program's own, nor a row or a part of one.
-- ==
-- error: E0222

def table: [3]i32 = [1, 2, 3]
def rows: [2][2]i32 = [[1, 2], [3, 4]]
def get (i: i32) = (i, table)
def row (i: i64) = rows[i]
def tail (i: i64) : #some ([]i32) | #none = #some table[i:]
def main (b: bool) = if b then table else []
