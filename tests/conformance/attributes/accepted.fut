-- Attributes that change no value: on expressions, definitions, parameters, patterns and loops.
-- ==
-- entry: everywhere
-- input { [3, 1, 2] } output { [9, 3, 6] 12 }
-- ==
-- entry: filled
-- input { 3i64 [2i64, 0i64, 1i64] [7, 8, 9] } output { [8, 9, 7] [7, 8, 9] }
-- ==
-- entry: levels
-- input { [[1, 2], [3, 4]] } output { [[2, 4], [6, 8]] [3, 7] }

#[noinline]
#[how_sure(3)]
def triple (#[bound(10)] x: i32): i32 = x * 3

#[warn(safety_checks)]
entry everywhere (xs: []i32) =
  let #[unused_here] doubled = #[trace] map (* 2) xs
  let total = #[trace(total)] i32.sum doubled
  let shifted = #[break] map (\i -> #[param(threshold)] doubled[(i + 1) % length xs] / 2) (indices xs)
  let (#[fst] a, _) = (shifted, 0)
  let sums = #[stripmine(2)] loop (#[maxval(100)] acc) = map (const 0) xs for x in a do
    map (+ (x - x)) acc
  in (map2 (+) sums (map triple (rotate (-1) a)) |> map (\x -> #[inline] triple x / 3), total)

-- What is scratch or blank is written before it is read.
entry filled (n: i64) (is: []i64) (xs: []i32) =
  (scatter (#[scratch] replicate n 0) is xs,
   loop out = #[blank] replicate n 1 for i < n do out with [i] = xs[i])

entry levels (xss: [][]i32) =
  (#[flattening(only_intra)] map (\xs -> map (* 2) xs) xss,
   #[flattening(no_intra)] map (\xs -> i32.sum xs) xss)
