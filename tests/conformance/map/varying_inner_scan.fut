-- A scan of irregular length, of which the last element is kept.
-- ==
-- input { empty([0]i64) }
-- output { empty([0]i64) }
-- input { [12i64] }
-- output { [506i64] }
-- input {
--   [12i64, 18i64, 4i64, 10i64, 16i64, 2i64, 8i64, 15i64, 0i64, 6i64, 13i64, 19i64, 5i64, 11i64, 17i64,
--   3i64, 9i64]
-- }
-- output {
--   [506i64, 1785i64, 14i64, 285i64, 1240i64, 1i64, 140i64, 1015i64, -1i64, 55i64, 650i64, 2109i64, 30i64,
--   385i64, 1496i64, 5i64, 204i64]
-- }

def main [n] (xs: [n]i64): [n]i64 =
  map (\x -> let ys = scan (+) 0 (map (\i -> i * i) (iota x)) in if x == 0 then -1 else ys[x - 1]) xs
