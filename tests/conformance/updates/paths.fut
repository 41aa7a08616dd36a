-- Updates at a path of fields and indices.
-- ==
-- entry: paths
-- input { [1, 2, 3] } output { [1, 20, 3] 5 7 [0, 9, 0] [[1, 2, 8], [1, 2, 3]] }
type inner = {count: i32, cells: [3]i32}
entry paths (xs: [3]i32) =
  let r = {inner = {count = 1, cells = copy xs}, rest = replicate 3 0}
  let r.inner.count = 5
  let s = r with inner.cells = (copy r.inner.cells with [1] = 20)
  let t = s with inner.count = 7
  let w = copy t.rest
  let w[1] = 9
  let rows = replicate 2 xs
  let rows[0, 2] = 8
  in (s.inner.cells, s.inner.count, t.inner.count, w, rows)
