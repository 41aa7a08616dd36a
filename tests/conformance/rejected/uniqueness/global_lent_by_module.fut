-- A signature does not hide that a function gives out an array of the program's own.
-- ==
-- error: E0221

module m: { val get: i64 -> [3]i32 } = { def table: [3]i32 = [1, 2, 3] def get (_: i64) = table }
def main (i: i64) = m.get i with [0] = 5
