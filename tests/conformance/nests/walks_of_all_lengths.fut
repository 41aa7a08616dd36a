-- Loops along rows whose bounds are read from an array: one row after the other, or a row to a lane.
-- ==
-- entry: products
-- input { 0i64 41i64 } output { 0i64 }
-- input { 300i64 5i64 } output { -9626i64 }
-- input { 200i64 137i64 } output { 2116i64 }
-- ==
-- entry: running
-- input { 300i64 5i64 } output { -19649475276289i64 }
-- input { 200i64 137i64 } output { -294205075396i64 }
-- ==
-- entry: two_walks
-- input { 300i64 5i64 } output { 5545285i64 }
-- input { 200i64 137i64 } output { -1344884477051741965i64 }
-- ==
-- entry: chains
-- input { 300i64 5i64 } output { 5848500i64 }
-- input { 200i64 137i64 } output { 142838994i64 }
-- ==
-- entry: missing
-- input { 70i64 -1i64 } output { 35i64 }
-- input { 70i64 0i64 } error: out of bounds
-- input { 70i64 69i64 } error: out of bounds
-- ==
-- entry: backwards
-- input { [0i64, 3i64, 1i64] [5f32, 6f32, 7f32] } output { [18f32, 0f32] }
-- input { [0i64, 4i64, 1i64] [5f32, 6f32, 7f32] } error: out of bounds
-- ==
-- entry: extrema
-- input { [0i64, 2i64, 2i64, 4i64, 6i64] [-0f32, 0f32, f32.nan, 3f32, f32.nan, f32.nan] }
-- output { [0f32, -f32.inf, 3f32, -f32.inf] [f32.inf, -0f32, 0.33333334f32, -0f32] }

-- Where n rows of fewer than m elements begin, and the end of the last.
def offsets (n: i64) (m: i64): [n + 1]i64 =
  scan (+) 0 (tabulate (n + 1) (\i -> if i == 0 then 0 else (i * 7919) % m))

def checksum [n] (xs: [n]i64): i64 = i64.sum (map2 (\i x -> (i + 1) * x) (iota n) xs)

entry products (n: i64) (m: i64): i64 =
  let off = offsets n m
  let k = off[n]
  let (at, values) = unzip (tabulate k (\q -> (q * 31 % (k + 7), f64.i64 (q % 9 - 4))))
  let x = tabulate (k + 7) (\j -> f64.i64 (j % 5 - 2))
  in checksum (tabulate n (\i ->
       i64.f64 (loop s = 0 for q < off[i + 1] - off[i] do s + values[off[i] + q] * x[at[off[i] + q]])))

-- The greatest of the running sums: a scan and a reduction, one loop of a thread.
entry running (n: i64) (m: i64): i64 =
  let off = offsets n m
  let values = tabulate off[n] (\q -> i32.i64 (q * 61 % 23) - 11)
  in checksum (tabulate n (\i -> i64.i32 (i32.maximum (scan (+) 0 values[off[i]:off[i + 1]]))))

-- The second walk goes as far as the first says.
entry two_walks (n: i64) (m: i64): i64 =
  let off = offsets n m
  let values = tabulate off[n] (\q -> q * 61 % 23)
  in checksum (tabulate n (\i ->
       let count = loop c = 0 for q < off[i + 1] - off[i] do if values[off[i] + q] > 11 then c + 1 else c
       in loop s = i / 7 for q < count do s * 3 ^ values[off[i] + q]))

-- Each address is what the step before loaded.
entry chains (n: i64) (m: i64): i64 =
  let off = offsets n m
  let next = tabulate off[n] (\q -> (q * 61 + 5) % off[n])
  in checksum (tabulate n (\i -> loop at = 0 for _q < off[i + 1] - off[i] do next[at]))

entry missing (n: i64) (bad: i64): i64 =
  let at = tabulate n (\q -> if q == bad then n else q)
  let off = [0, n, n]
  let x = tabulate n (\j -> j % 2)
  in i64.sum (tabulate 2 (\i -> loop s = 0 for q < off[i + 1] - off[i] do s + x[at[off[i] + q]]))

-- A row that would end before it begins is empty.
entry backwards [n][k] (off: [n]i64) (xs: [k]f32): [n - 1]f32 =
  tabulate (n - 1) (\i -> loop s = 0 for q < off[i + 1] - off[i] do s + xs[off[i] + q])

-- Zeros of both signs, and what is not a number.
entry extrema [n][k] (off: [n]i64) (xs: [k]f32): ([n - 1]f32, [n - 1]f32) =
  unzip (tabulate (n - 1) (\i ->
    let most = loop most = -f32.inf for q < off[i + 1] - off[i] do f32.max most xs[off[i] + q]
    in (most, 1 / most)))
