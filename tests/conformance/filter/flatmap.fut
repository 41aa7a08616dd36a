-- Rows of different lengths one after the other, with what is known of each.
-- ==
-- entry: powers
-- input { [3i64, 0i64, 1i64, 4i64] }
-- output {
--   [3i64, 0i64, 1i64, 4i64] [true, false, false, true, true, false, false, false] [0i64, 3i64, 3i64, 4i64]
--   [1i64, 3i64, 9i64, 1i64, 1i64, 4i64, 16i64, 64i64] [9i64, 0i64, 1i64, 16i64]
-- }
-- input { empty([0]i64) }
-- output { empty([0]i64) empty([0]bool) empty([0]i64) empty([0]i64) empty([0]i64) }
-- input { [0i64] }
-- output { [0i64] empty([0]bool) [0i64] empty([0]i64) [0i64] }

-- ==
-- entry: long_rows
-- input { [0i64, 100i64, 3i64] } output { [0i64, 0i64, 100i64] 103i64 4953i64 }

-- ==
-- entry: nested
-- input { [[2i64, 0i64], [1i64, 3i64]] } output { [1i64, 4i64] [1i64, 2i64] }

-- ==
-- entry: sorted
-- input { [3, 1, 2, -1] } output { [3, 2, 1, 1, 0] [3i64, 1i64, 2i64, 0i64] }

entry powers (ks: []i64) = flatmap (\k -> (map (k **) (iota k), k * k)) ks

-- More than 32 elements a row: computed row by row.
entry long_rows (ks: []i64) =
  let (_, _, offsets, data) = flatmap' (\k -> scan (+) 0 (map (\i -> i / i64.max 1 i) (iota k))) ks
  in (offsets, length data, i64.sum data)

entry nested (kss: [][]i64) =
  unzip (map (\ks ->
                let (_, flags, _, data, _) = flatmap (\k -> (iota k, ())) ks
                in (i64.sum data + i64.bool (length data > 3), i64.sum (map i64.bool flags)))
             kss)

entry sorted (xs: []i32) =
  let (shape, _, _, data) = flatmap' (\x -> filter (< x) [0, 1, 2] |> reverse |> map (+ (x - 2))) xs
  in (filter (>= 0) data, shape)
