-- The steps of a loop in a nest choose elements and rows that a map adds up: the map goes outside.
-- ==
-- entry: weighted
-- input { [0i64, 2i64, 2i64, 3i64] [1, 0, 1] [10, 1, 2] [[1, 2, 3, 4, 5, 6, 7, 8, 9], [9, 8, 7, 6, 5, 4, 3, 2, 1]] }
-- output { [[91, 82, 73, 64, 55, 46, 37, 28, 19], [0, 0, 0, 0, 0, 0, 0, 0, 0], [18, 16, 14, 12, 10, 8, 6, 4, 2]] }
-- input { [0i64, 1i64] [2] [1] [[1], [2]] } error: out of bounds
-- ==
-- entry: smoothed
-- input { [[[1, 2, 3], [4, 5, 6]], [[0, 1, 0], [7, 7, 7]]] } output { [[6, 9, 12], [7, 9, 7]] }
entry weighted [n][m][d] (ends: []i64) (rows: [n]i32) (ws: [n]i32) (table: [m][d]i32): [][d]i32 =
  tabulate (length ends - 1) (\i ->
    loop acc = replicate d 0 for p in ends[i]..<ends[i + 1] do
      map2 (\a x -> a + ws[p] * x) acc table[i64.i32 rows[p]])

entry smoothed [b][t][d] (xs: [b][t][d]i32): [b][d]i32 =
  map (\steps -> loop s = replicate d 0 for i < t do
                   let k = i64.i32 (i32.i64 i) in map2 (\s x -> 2 * s + x) s steps[k]) xs
