-- A field may get an array of another size; a slice is updated by one as long.
-- ==
-- input { [1, 2, 3] }
-- output { 1i64 3i64 [1, 8, 9] }

def main [n] (xs: [n]i32) =
  let r = {data = xs, count = n}
  let s = r with data = [7]
  let t = s with count = 2
  in (length t.data, r.count, copy xs with [1:] = [8, 9])
