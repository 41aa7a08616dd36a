-- `with` on fields, nested, and on elements of array fields.
-- ==
-- input { 1i64 3 }
-- output { 5 30 [30] 3 }
-- input { 4i64 -2 }
-- output { 5 -20 [-20, 0, 0, 0] -2 }

def main (n: i64) (x: i32) =
  let r = {a = x, b = {c = x + 1, d = replicate n 0i32}}
  let s = r with a = 5 with b.c = r.a * 10
  let t = s with b.d[0] = s.b.c
  in (s.a, s.b.c, t.b.d, r.a)
