-- Two arrays that shrink together: the loop asks that they stay equally long, and their common length changes.
-- ==
-- entry: together
-- input { [5, 1, 7, 7, 2, 9] [5, 3, 7, 8, 0, 1] }
-- output { [4, 12] [5, 6] }
-- input { [1, 2] [3, 4] }
-- output { [1, 2] [3, 4] }
-- input { empty([0]i32) empty([0]i32) }
-- output { empty([0]i32) empty([0]i32) }
-- ==
-- entry: beside_fixed
-- input { [4, 1, 3, 2, 0] }
-- output { [20, 7, 2, 1, 0] 5 }

entry together [n] (xs: [n]i32) (ys: [n]i32) : ([]i32, []i32) =
  loop (a, b) = (xs, ys) while length a > 2 do
    let (p, q) = unzip (filter (\(x, y) -> x != y) (zip a b))
    in (map2 (+) (map (+ 1) p[1:]) (map (+ 1) q[1:]) |> tail, map (+ 5) q[1:] |> tail)

def step [n] [k] (i: i32) (a: [n]i32) (b: [n]i64) (done: *[k]i32) : ?[m].([m]i32, [m]i64, *[k]i32) =
  let done = done with [i] = i32.sum a + i32.i64 (i64.sum b)
  let (a, b) = zip a b |> filter (\(x, j) -> i64.i32 x < j) |> unzip
  in (a, b, done)

entry beside_fixed [n] (xs: [n]i32) : ([n]i32, i32) =
  let (_, _, done, turns) =
    loop (a, b, done, i) = (xs, iota n, replicate n 0, 0) while length a > 0 do
      let (a, b, done) = step i a b done
      in (a, map (\j -> j - 1) b, done, i + 1)
  in (done, turns)
