-- The size of a result is that of a computed argument.
-- ==
-- input { 0i64 }
-- output { 1i64 [0i64] 0i64 }
-- input { 1i64 }
-- output { 3i64 [0i64, 1i64, 2i64] 0i64 }
-- input { 4i64 }
-- output { 9i64 [0i64, 4i64, 8i64, 12i64, 16i64, 20i64, 24i64, 28i64, 32i64] 36i64 }

def grid (n: i64): [n][n]i64 = tabulate_2d n n (\i j -> i * j)
def main (x: i64) = let g = grid (x * 2 + 1) in (length g, g[x], i64.sum (flatten (grid x)))
