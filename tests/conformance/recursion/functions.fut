-- Recursive functions that take functions, which capture what is around them, and are polymorphic.
-- ==
-- entry: repeated
-- input { 4i64 3i64 } output { 48i64 [3i64, 7i64, 11i64, 15i64] }

-- ==
-- entry: captured
-- input { 3i64 } output { [9i64, 12i64, 15i64] }

-- ==
-- entry: folded
-- input { [3i64, 4i64] } output { 7i64 12i64 }

def times (n: i64) (f: i64 -> i64) (x: i64): i64 = if n == 0 then x else times (n - 1) f (f x)
entry repeated (n: i64) (x: i64) = (times n (* 2) x, map (\i -> times i (+ n) x) (iota n))

-- What the function captures is of the nest.
entry captured (n: i64) = map (\k -> times 3 (\x -> x + k + 1) 6) (iota n)

def fold 'a 'b [n] (f: b -> a -> b) (z: b) (xs: [n]a): b = if n == 0 then z else fold f (f z xs[0]) xs[1:]
entry folded (xs: []i64) = (fold (+) 0 xs, (fold (\(s, t) x -> (s * x, t + 1)) (1, 0i64) xs).0)
