-- The first and the last place of the least and of the greatest integer, signed and unsigned.
-- ==
-- entry: first_least
-- input { [3u8, 1u8, 255u8, 1u8] } output { 1u8 1i64 }
-- input { empty([0]u8) } output { 255u8 -1i64 }
-- random input { [20000]u8 } auto output
-- ==
-- entry: last_least
-- input { [3, -1, -1, 2] } output { -1 2i64 }
-- random input { [9000]i32 } auto output
-- ==
-- entry: in_any_order
-- input { [-3i16, 1i16, 1i16] } output { 1i16 1i64 }
-- random input { [10000]i16 } auto output

entry first_least [n] (x: [n]u8) : (u8, i64) =
  reduce (\(a, i) (b, j) -> if b < a then (b, j) else (a, i)) (u8.highest, -1) (zip x (iota n))

entry last_least [n] (x: [n]i32) : (i32, i64) =
  reduce (\(a, i) (b, j) -> if b <= a then (b, j) else (a, i)) (i32.highest, -1) (zip x (iota n))

entry in_any_order [n] (x: [n]i16) : (i16, i64) =
  reduce_comm (\(a, i) (b, j) -> if j < 0 then (a, i) else if i < 0 then (b, j)
                                 else if a > b || (a == b && i < j) then (a, i) else (b, j))
              (i16.lowest, -1) (zip x (iota n))
