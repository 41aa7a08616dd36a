-- In a module, too, a function may not give out an array of the program's own.
-- ==
-- error: E0222

module m: { val get: i64 -> [3]i32 } = { def table: [3]i32 = [1, 2, 3] def get (_: i64) = table }
def main (i: i64) = m.get i with [0] = 5
