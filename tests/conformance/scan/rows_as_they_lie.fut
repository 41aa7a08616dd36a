-- Scans of many rows that are not long, of every length around that of a vector: against a loop along each row. Rows are
-- counted so that some have vectors of their own and some share one.
-- ==
-- entry: sums
-- input { 0i64 5i64 } output { true }
-- input { 64i64 0i64 } output { true }
-- input { 1i64 9i64 } output { true }
-- input { 63i64 9i64 } output { true }
-- input { 64i64 1i64 } output { true }
-- input { 65i64 2i64 } output { true }
-- input { 100i64 7i64 } output { true }
-- input { 70i64 8i64 } output { true }
-- input { 90i64 9i64 } output { true }
-- input { 70i64 15i64 } output { true }
-- input { 70i64 16i64 } output { true }
-- input { 71i64 17i64 } output { true }
-- input { 66i64 33i64 } output { true }
-- input { 64i64 100i64 } output { true }
-- ==
-- entry: last_set
-- input { 0i64 3i64 } output { true }
-- input { 65i64 0i64 } output { true }
-- input { 64i64 1i64 } output { true }
-- input { 80i64 6i64 } output { true }
-- input { 99i64 31i64 } output { true }
-- input { 70i64 64i64 } output { true }
-- input { 70i64 13i64 } output { true }
-- ==
-- entry: powers
-- input { 64i64 1i64 } output { true }
-- input { 75i64 3i64 } output { true }
-- input { 64i64 8i64 } output { true }
-- input { 70i64 20i64 } output { true }
-- input { 70i64 18i64 } output { true }
-- ==
-- entry: bricks
-- input { 0i64 4i64 3i64 } output { true }
-- input { 8i64 9i64 0i64 } output { true }
-- input { 8i64 9i64 5i64 } output { true }
-- input { 5i64 40i64 11i64 } output { true }
-- input { 70i64 2i64 35i64 } output { true }

-- What a scatter has written is in memory.
def numbers (n: i64) (m: i64) : [n][m]i64 =
  unflatten (scatter (replicate (n * m) 0) (iota (n * m)) (tabulate (n * m) (\k -> (k * 7919) % 23 - 11)))

-- The scan by a loop, element after element.
def along [m] 'a (op: a -> a -> a) (ne: a) (xs: [m]a) : [m]a =
  let (ys, _) = loop (ys, acc) = (copy xs, ne) for j < m do
    let acc = op acc xs[j]
    in (copy ys with [j] = acc, acc)
  in ys

entry sums (n: i64) (m: i64) : bool =
  let xss = numbers n m
  let yss = opaque (map (\xs -> scan (+) 0 (map (\x -> i32.i64 (3 * x)) xs)) xss)
  in and (map2 (\xs ys -> and (map2 (==) ys (along (+) 0 (map (\x -> i32.i64 (3 * x)) xs)))) xss yss)

-- An operator that does not commute.
entry last_set (n: i64) (m: i64) : bool =
  let op (a: i16) (b: i16) = if b == 0 then a else b
  let value (x: i64) = i16.i64 (x * i64.bool (x % 3 == 0))
  let xss = numbers n m
  let yss = opaque (map (\xs -> scan op 0 (map value xs)) xss)
  in and (map2 (\xs ys -> and (map2 (==) ys (along op 0 (map value xs)))) xss yss)

-- Two components, and a neutral element that is not all zeros.
entry powers (n: i64) (m: i64) : bool =
  let op (a: u32, b: u32) (c: u32, d: u32) = (a * c, b * c + d)
  let value (x: i64) = (u32.i64 x, u32.i64 (x + 1))
  let xss = numbers n m
  let yss = opaque (map (\xs -> scan op (1, 0) (map value xs)) xss)
  in and (map2 (\xs ys -> and (map2 (==) ys (along op (1, 0) (map value xs)))) xss yss)

-- Two dimensions of rows; what is mapped beside the scan is stored too.
entry bricks (k: i64) (n: i64) (m: i64) : bool =
  let xsss = unflatten (numbers (k * n) m)
  let (ysss, zsss) =
    opaque (unzip (map (\xss -> unzip (map (\xs -> let zs = map (2 *) xs in (scan i64.max i64.lowest zs, zs)) xss)) xsss))
  in and (map3 (\xss yss zss ->
                  and (map3 (\xs ys zs ->
                               and (map2 (==) zs (map (2 *) xs)) &&
                               and (map2 (==) ys (along i64.max i64.lowest zs)))
                            xss yss zss))
               xsss ysss zsss)
