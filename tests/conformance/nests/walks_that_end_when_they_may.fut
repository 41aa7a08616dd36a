-- Threads that go through memory until something ends them: a list, a hash table, rows merged, and failures on the way.
-- ==
-- entry: roots
-- input { 0i64 } output { 0i64 }
-- input { 1i64 } output { 0i64 }
-- input { 17i64 } output { 1040i64 }
-- input { 300i64 } output { 8642315i64 }
-- ==
-- entry: probe
-- input { 0i64 3i64 } output { 0i64 }
-- input { 5i64 16i64 } output { 216i64 }
-- input { 100i64 257i64 } output { 642723i64 }
-- input { 300i64 331i64 } output { 7369915i64 }
-- input { 0i64 0i64 } output { 0i64 }
-- ==
-- entry: common
-- input { 1i64 9i64 } output { 0i64 }
-- input { 200i64 50i64 } output { 910i64 }
-- input { 70i64 300i64 } output { 2866i64 }
-- ==
-- entry: beyond
-- input { [3f32, 1f32, 2f32, f32.nan] } output { [0i64, 3i64, 3i64, 3i64] }
-- input { [] } output { empty([0]i64) }
-- input { [3f32, -0f32, 2f32, 5f32, 1f32] } error: out of bounds
-- ==
-- entry: unread
-- input { [1i64, 2i64, 9i64] 3i64 } output { [2i64, 2i64, 2i64] }
-- input { [1i64, 2i64, 9i64] 4i64 } error: out of bounds

def checksum [n] (xs: [n]i64): i64 = i64.sum (map2 (\i x -> (i + 1) * x) (iota n) xs)

entry roots (n: i64): i64 =
  let next = tabulate n (\i -> if i % 5 == 0 then i else i - 1 - (i * 7) % i64.min i 4)
  in checksum (map (\i -> loop k = i while next[k] != k do next[k]) (iota n))

entry probe (n: i64) (m: i64): i64 =
  let keys =
    loop keys = replicate m 0i64 for i < n do
      let q = i + 1
      let k = loop k = (q * 7919) % m while keys[k] != 0 do (k + 1) % m
      in keys with [k] = q
  in checksum (tabulate (2 * n) (\q ->
       let k = loop k = (q * 7919) % m while keys[k] != q && keys[k] != 0 do (k + 1) % m
       in if keys[k] == q then k else -1))

-- How many numbers neighbouring rows share: a reduction of what threads count.
entry common (n: i64) (m: i64): i64 =
  let length i = ((i * 31) % m + i % 3) / (1 + i % 3)
  let off = scan (+) 0 (tabulate (n + 1) (\i -> if i == 0 then 0 else length (i - 1)))
  let row = loop row = replicate off[n] 0i64 for i < n do
    loop row for k < off[i + 1] - off[i] do row with [off[i] + k] = k * (1 + i % 3)
  in i64.sum (tabulate (n - 1) (\i ->
       (loop (t, a, b) = (0, off[i], off[i + 1]) while a < off[i + 1] && b < off[i + 2] do
          if row[a] == row[b] then (t + 1, a + 1, b + 1)
          else if row[a] < row[b] then (t, a + 1, b)
          else (t, a, b + 1)).0))

-- To the next one that is no smaller, which is the last at the latest where that is not a number.
entry beyond [n] (xs: [n]f32): [n]i64 =
  map (\i -> loop k = i while xs[k] < 3 && !(f32.isnan xs[k]) do k + 1) (iota n)

-- What no thread reads does not fail.
entry unread [n] (next: [n]i64) (m: i64): [m]i64 =
  map (\i -> loop k = i while next[k] < 9 do next[k]) (iota m) |> map (\k -> if next[k] == 9 then k else next[k])
