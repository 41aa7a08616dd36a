-- Sizes whose names go out of scope: one that a value beside shows is known to be the same, also as a part of a sum.
-- ==
-- entry: shown
-- input { 2i64 } output { [0i64, 2i64, 4i64, 6i64] 3i64 }
-- ==
-- entry: part
-- input { 2i64 } output { 4i64 [7i64, 8i64, 9i64, 10i64] }
-- ==
-- entry: chosen
-- input { 2i64 } output { [0i64, 1i64, 2i64, 3i64, 4i64, 5i64] }
-- ==
-- entry: split
-- input { [1, 5, 2, 6] } output { [1, 2] [5, 6] }

def both n = let (m, _) = (n * 2, 'a') in (iota m, \(xs: [m]i64) -> map2 (+) xs (iota m), iota (m - 1))
entry shown (n: i64) = let (xs, f, ys) = both n in (f xs, length ys)

def first_of [n] (xs: [n + 1]i64) = (n, init xs)
def longer n = let (m, _) = (n * 2, 'a') in (iota m, map (+ 7) (iota (m + 1)))
entry part (n: i64) = let (_, ys) = longer n in first_of ys

def later n = let (m, _) = (n * 2, 'a') in (n, \k -> iota (m + k))
entry chosen (n: i64) = (later n).1 2

def parted [n] (xs: [n]i32) : ?[k].([k]i32, [n - k]i32) =
  let small = filter (< 5) xs
  let count = [length small]
  let all = small ++ filter (>= 5) xs :> [n]i32
  in (all[:count[0]], all[count[0]:n])
entry split (xs: []i32) = parted xs
