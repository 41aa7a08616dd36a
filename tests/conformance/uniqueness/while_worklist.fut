-- A worklist in an array with a pointer, updated in a while loop.
-- ==
-- input { 0i64 }
-- output { empty([0]i64) 0i64 }
-- input { 1i64 }
-- output { [-1i64] 1i64 }
-- input { 2i64 }
-- output { [-1i64, 0i64] 2i64 }
-- input { 17i64 }
-- output {
--   [-1i64, 0i64, 0i64, 1i64, 1i64, 2i64, 2i64, 3i64, 3i64, 4i64, 4i64, 5i64, 5i64, 6i64, 6i64, 7i64, 7i64]
--   17i64
-- }

def main (n: i64): ([n]i64, i64) =
  let (q, head, _) = loop (q, head, tail) = (replicate n (-1), 0, i64.min n 1) while head < tail do
    let v = head
    let q = if 2 * v + 1 < n then q with [2 * v + 1] = v else q
    let q = if 2 * v + 2 < n then q with [2 * v + 2] = v else q
    in (q, head + 1, i64.min n (2 * v + 3))
  in (q, head)
