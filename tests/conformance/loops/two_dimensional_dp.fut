-- An alignment table filled by anti-diagonals, each of them in parallel.
-- ==
-- input { empty([0]i32) empty([0]i32) }
-- output { 0 }
-- input { [1] [1] }
-- output { 0 }
-- input { [1, 2, 2] [1, 1, 2] }
-- output { 1 }
-- input {
--   [1, 2, 2, 0, 0, 0, 1, 1, 1, 2, 2, 0, 0, 0, 1, 1, 2] [1, 1, 2, 2, 2, 0, 0, 0, 1, 1, 2, 2, 2, 0, 0, 1, 1]
-- }
-- output { 5 }

def main [n] (a: [n]i32) (b: [n]i32): i32 = let (_, last) = loop (p, q) = (replicate (n + 1) 0, replicate (n + 1) 0) for d < 2 * n + 1 do let r = tabulate (n + 1) (\i -> let j = d - i in if j < 0 || j > n then 0 else if i == 0 || j == 0 then i32.i64 (i + j) else let c = i32.bool (a[i - 1] != b[j - 1]) in i32.min (p[i - 1] + c) (1 + i32.min q[i] q[i - 1])) in (q, r) in last[n]
