-- Sizes inside a record.
-- ==
-- error: E0203

type r [n] = {a: [n]i32, b: [n]i32}
def f [n] (x: r [n]) = x.a
def main [n][m] (a: [n]i32) (b: [m]i32) = f {a, b}
