-- A loop parameter that is declared unique, and that the body only reads to make a new one, takes nothing from its
-- initial value, which may be anybody's.
-- ==
-- input { [5, 3, 8, 1] } output { [5, 3, 8, 1] [1, 1, 1, 1] 19 }
-- input { empty([0]i32) } output { empty([0]i32) empty([0]i32) 0 }

def main [n] (xs: [n]i32) =
  let (seen, _, count) =
    loop (seen: *[n]i32, rest: *[]i32, count) = (replicate n 0, xs, 0)
    while length rest > 0 do
      let seen[length rest - 1] = 1
      in (seen, map (+ 1) (tail rest), count + rest[0] / (i32.i64 (length rest)) + 2)
  in (xs, seen, count)
