-- Attributes before an application in a tuple `let`, in the unzipped form and without it; one before the other; before
-- operators, branches and loops, where they hold as far as an expression goes.
-- ==
-- entry: main
-- input { [1, 2, 3] [4, 5, 6] }
-- output { [5, 7, 9] [4, 10, 18] [1, 3, 6] [4, 20, 120] }
-- input { empty([0]i32) empty([0]i32) }
-- output { empty([0]i32) empty([0]i32) empty([0]i32) empty([0]i32) }
-- ==
-- entry: whole
-- input { [[1, 2], [3, 4]] }
-- output { [3, 7] [2, 12] [3, 7] 10 }

entry main [n] (xs: [n]i32) (ys: [n]i32) : ([n]i32, [n]i32, [n]i32, [n]i32) =
  let (as, bs) = #[sequential] map (\x y -> (x + y, x * y)) xs ys
  let (cs, ds) = #[flattening(only_inner)] #[trace] scan (\(a, b) (c, d) -> (a + c, b * d)) (0, 1) (zip xs ys)
  in (as, bs, cs, ds)

entry whole [n][m] (xss: [n][m]i32) : ([n]i32, [n]i32, [n]i32, i32) =
  let (as, bs) = #[sequential_outer] map (\xs -> (reduce (+) 0 xs, reduce (*) 1 xs)) xss
  let cs = #[sequential_inner] map (\xs -> #[sequential] reduce (+) 0 xs) xss
  let d = #[unroll] loop d = 0 for i < 1 do #[noinline] d + i32.i64 i + i32.sum cs
  in (as, bs, cs, d)
