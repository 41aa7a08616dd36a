-- A loop that exchanges two arrays, one of which its body updates.
-- ==
-- input { [1, 2, 3] 3i64 } output { [0, 4, 6] [3, 2, 5] }

def main [n] (xs: [n]i32) (k: i64) =
  let (a, b) = loop (a, b) = (copy xs, map (2 *) xs) for i < k do (b, a with [i % n] = i32.i64 i + 3)
  in (a with [0] = 0, b)
