-- A sieve by repeated filters.
-- ==
-- input { 0i64 }
-- output { empty([0]i64) }
-- input { 1i64 }
-- output { [2i64] }
-- input { 2i64 }
-- output { [2i64, 3i64] }
-- input { 17i64 }
-- output { [2i64, 3i64, 5i64, 7i64, 11i64, 13i64, 17i64] }
-- input { 60i64 }
-- output {
--   [2i64, 3i64, 5i64, 7i64, 11i64, 13i64, 17i64, 19i64, 23i64, 29i64, 31i64, 37i64, 41i64, 43i64, 47i64,
--   53i64, 59i64, 61i64]
-- }

def main (n: i64): []i64 = let (ps, _) = loop (ps, cs) = ([], map (+ 2) (iota n)) while length cs > 0 do let p = cs[0] in (ps ++ [p], filter (\c -> c % p != 0) cs) in ps
