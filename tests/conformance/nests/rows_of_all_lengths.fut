-- Reductions of rows whose bounds are read from an array: empty ones, short ones, of whole vectors, of some more.
-- ==
-- entry: products
-- input { 0i64 41i64 } output { 0i64 }
-- input { 50i64 1i64 } output { 0i64 }
-- input { 300i64 5i64 } output { -9626i64 }
-- input { 200i64 137i64 } output { 2116i64 }
-- ==
-- entry: in_order
-- input { 300i64 5i64 } output { 242010i64 }
-- input { 200i64 137i64 } output { 1561196615384i64 }
-- ==
-- entry: bytes
-- input { 300i64 5i64 } output { 4891214i64 }
-- input { 200i64 137i64 } output { 2631590i64 }
-- ==
-- entry: greatest
-- input { 300i64 5i64 } output { 12982i64 }
-- input { 200i64 137i64 } output { 221511i64 }
-- ==
-- entry: extrema
-- input { 300i64 5i64 } output { 5733606i64 }
-- input { 200i64 137i64 } output { 18821937i64 }
-- ==
-- entry: missing
-- input { 70i64 -1i64 } output { 35i64 }
-- input { 70i64 0i64 } error: out of bounds
-- input { 70i64 17i64 } error: out of bounds
-- input { 70i64 63i64 } error: out of bounds
-- input { 70i64 66i64 } error: out of bounds
-- input { 3i64 2i64 } error: out of bounds
-- ==
-- entry: backwards
-- input { [0i64, 3i64, 1i64] } output { [3i64, 0i64] }

-- Where n rows of fewer than m elements begin, and the end of the last.
def offsets (n: i64) (m: i64): [n + 1]i64 =
  scan (+) 0 (tabulate (n + 1) (\i -> if i == 0 then 0 else (i * 7919) % m))

def checksum [n] (xs: [n]i64): i64 = i64.sum (map2 (\i x -> (i + 1) * x) (iota n) xs)

-- Small numbers, in floats: every order gives the same sum.
entry products (n: i64) (m: i64): i64 =
  let off = offsets n m
  let k = off[n]
  let (at, values) = unzip (tabulate k (\q -> (q * 31 % (k + 7), f64.i64 (q % 9 - 4))))
  let x = tabulate (k + 7) (\j -> f64.i64 (j % 5 - 2))
  in checksum (tabulate n (\i ->
       i64.f64 (reduce (+) 0 (map2 (\j v -> v * x[j]) at[off[i]:off[i + 1]] values[off[i]:off[i + 1]]))))

-- The first of a row after the last: an operator that does not commute.
entry in_order (n: i64) (m: i64): i64 =
  let off = offsets n m
  let values = tabulate off[n] (\q -> i32.i64 (q % 5))
  let compose (a: i32, b: i32) (c: i32, d: i32) = (a * c, b * c + d)
  let (scales, shifts) = unzip (tabulate n (\i ->
    reduce compose (1, 0) (map (\v -> (v + 1, v)) values[off[i]:off[i + 1]])))
  in checksum (map2 (\a b -> i64.i32 (a ^ b)) scales shifts)

entry bytes (n: i64) (m: i64): i64 =
  let off = offsets n m
  let values = tabulate off[n] (\q -> u8.i64 (q * 37))
  in checksum (tabulate n (\i -> i64.u8 (reduce (+) 0 (map (\v -> v ^ 5) values[off[i]:off[i + 1]]))))

-- The first place of the greatest, counted in the row; -1 in an empty one.
entry greatest (n: i64) (m: i64): i64 =
  let off = offsets n m
  let values = tabulate off[n] (\q -> f32.i64 (q * 61 % 23))
  let larger (x: f32, i: i64) (y: f32, j: i64) =
    if j < 0 then (x, i) else if i < 0 then (y, j)
    else if x > y || (x == y && i < j) then (x, i) else (y, j)
  in checksum (tabulate n (\i ->
       let row = values[off[i]:off[i + 1]]
       in (reduce_comm larger (-f32.inf, -1) (zip row (indices row))).1))

-- Two reductions of one row, and something after them.
entry extrema (n: i64) (m: i64): i64 =
  let off = offsets n m
  let values = tabulate off[n] (\q -> i16.i64 (q * 61 % 1009))
  in checksum (tabulate n (\i ->
       let row = values[off[i]:off[i + 1]]
       let (least, most) = (i16.minimum row, i16.maximum row)
       in if null row then 7 else i64.i16 (most - least)))

-- A row of n elements, one of which is at a place that is not there.
entry missing (n: i64) (bad: i64): i64 =
  let at = tabulate n (\q -> if q == bad then n else q)
  let off = [0, n, n]
  let x = tabulate n (\j -> j % 2)
  in i64.sum (tabulate 2 (\i -> i64.sum (map (\j -> x[j]) at[off[i]:off[i + 1]])))

-- Bounds that are counted, and no slice: a row that would end before it begins is empty.
entry backwards [n] (off: [n]i64): [n - 1]i64 =
  tabulate (n - 1) (\i -> let k = i64.max 0 (off[i + 1] - off[i]) in i64.sum (map (\j -> j - j / 8 + 0 * off[i]) (iota k)))
