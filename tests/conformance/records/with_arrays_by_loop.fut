-- A record of arrays as the state of a loop.
-- ==
-- input { 0i64 0i64 }
-- output { empty([0]i64) 0i64 }
-- input { 0i64 1i64 }
-- output { empty([0]i64) 0i64 }
-- input { 0i64 5i64 }
-- output { empty([0]i64) 0i64 }
-- input { 1i64 0i64 }
-- output { [0i64] 0i64 }
-- input { 1i64 1i64 }
-- output { [0i64] 0i64 }
-- input { 1i64 5i64 }
-- output { [10i64] 20i64 }
-- input { 17i64 0i64 }
-- output {
--   [0i64, 1i64, 2i64, 3i64, 4i64, 5i64, 6i64, 7i64, 8i64, 9i64, 10i64, 11i64, 12i64, 13i64, 14i64, 15i64,
--   16i64] 0i64
-- }
-- input { 17i64 1i64 }
-- output {
--   [0i64, 1i64, 2i64, 3i64, 4i64, 5i64, 6i64, 7i64, 8i64, 9i64, 10i64, 11i64, 12i64, 13i64, 14i64, 15i64,
--   16i64] 136i64
-- }
-- input { 17i64 5i64 }
-- output {
--   [10i64, 11i64, 12i64, 13i64, 14i64, 15i64, 16i64, 17i64, 18i64, 19i64, 20i64, 21i64, 22i64, 23i64,
--   24i64, 25i64, 26i64] 1020i64
-- }

def main (n: i64) (k: i64) =
  let r = loop r = {xs = iota n, total = 0i64} for i < k do
    let xs = map (+ i) r.xs in {total = r.total + i64.sum xs, xs}
  in (r.xs, r.total)
