-- Derivatives by integers and truth values, and of the bits of a float.
-- ==
-- entry: bits
-- input { 3.0 } output { 6.0 6.0 }

-- ==
-- entry: changes
-- input { } output { [true, true, false, true, false] }

-- ==
-- entry: range
-- input { 3i64 } output { [1i64, 1i64, 1i64] 111i64 120i64 }

entry bits (x: f64) =
  let f x = f64.from_bits (f64.to_bits (x * x))
  in (jvp f x 1, vjp f x 1)

entry changes =
  let f (x, y) = (!x, x && y, x || y, x != y, x && !y)
  let (a, b, c, d, e) = jvp f (true, true) (true, false)
  in [a, b, c, d, e]

entry range (x: i64) =
  let up (a: i64) = (a..(a + 2)...(a + 4)) :> [3]i64
  let steps (a: i64) = (0..a...(2 * a)) :> [3]i64
  in (jvp up x 1, vjp up x [100, 10, 1], vjp steps x [100, 100, 10])
