-- Branches that choose among parts of a loop parameter, or what is outside of the loop, keep the size where all have
-- the same; where one does not, it changes.
-- ==
-- entry: best
-- input { 3i64 [1f64, 2f64] }
-- output { [5f64, 9f64] }
-- input { 0i64 [1f64, 2f64] }
-- output { [1f64, 2f64] }

-- ==
-- entry: cases
-- input { 5i64 [1i32, 2i32] }
-- output { [1i32, 2i32] [3i32, 6i32] }

-- ==
-- entry: nested
-- input { 3i64 [1i32, 2i32] [3i32, 4i32] }
-- output { [3i32, 4i32] [5i32, 6i32] }

-- ==
-- entry: grows
-- input { 3i64 [1i32, 2i32] }
-- output { [1i32, 2i32, 1i32, 2i32] [1i32, 2i32, 1i32, 2i32, 1i32, 2i32, 1i32, 2i32] }

entry best [n] (k: i64) (x: [n]f64): [n]f64 =
  let (best, _) =
    loop (best, y) = (x, x) for i < k do
      let y = map (\v -> v * -2.0 + f64.i64 i) y
      in if y[0] > best[0] then (y, y) else (best, y)
  in best

entry cases [n] (k: i64) (x: [n]i32): ([n]i32, [n]i32) =
  loop (a, b) = (x, x) for i < k do
    match i % 3
    case 0 -> (map2 (+) a b, x)
    case 1 -> (x, a)
    case _ -> (b, a)

entry nested [n] (k: i64) (x: [n]i32) (y: [n]i32): ([n]i32, [n]i32) =
  loop (a, b) = (x, y) for i < k do
    let (c, d) =
      loop (c, d) = (a, a) for j < 2i64 do
        if (i + j) % 2 == 0 then (d, map (+ 2) c) else (map (+ 1) c, d)
    in if i == 1 then (c, b) else (b, d)

entry grows (k: i64) (x: []i32): ([]i32, []i32) =
  loop (a, b) = (x, x) for i < k do if i % 2 == 0 then (a, a ++ b) else (b, b)
