-- One field is consumed, the other read.
-- ==
-- input { [46] [-28] }
-- output { [-28] [-28] }
-- input { [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] [-28, 27, -18] }
-- output { [-28, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] [-28, 27, -18] }

type~ r = {a: []i32, b: []i32}
def f (x: *r): *r = x with a[0] = x.b[0]
def main (xs: *[]i32) (ys: *[]i32) = let z = f {a = xs, b = ys} in (z.a, z.b)
