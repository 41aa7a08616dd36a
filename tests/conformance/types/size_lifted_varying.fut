-- What a size-lifted parameter stands for may have another size in each value.
-- ==
-- entry: grown
-- input { 2 [1, 2] } output { [1, 2, 1, 2, 0, 1, 2, 1, 2, 0, 0] }
-- input { 0 [1, 2] } output { [1, 2] }
-- ==
-- entry: shrunk
-- input { 3 [7, 0, 8, 1] } output { [8, 1] 2i64 }

def again '~a (n: i32) (step: (() -> a) -> a) (start: () -> a) : a =
  loop x = start () for _i < n do step (\() -> x)

entry grown (n: i32) (xs: []i32) = again n (\(old: () -> []i32) -> old () ++ filter (< 9) (old ()) ++ [0]) (\() -> xs)

entry shrunk (n: i32) (xs: []i32) =
  let (ys, k) =
    again n
          (\(old: () -> ([]i32, i64)) -> let (ys, k) = old () in if length ys > 2 then (tail ys, k + 1) else (ys, k))
          (\() -> (xs, 0))
  in (ys, k)
