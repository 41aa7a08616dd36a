-- Streams whose rows write once, several times, and a number of times that each row computes.
-- ==
-- entry: fixed
-- input { [0, 0, 0, 0, 0, 0] [3i64, 1i64, 9i64, 1i64] }
-- output { [0, 2, 2, 1, 1, 0] }

-- ==
-- entry: varying
-- input { [0, 0, 0, 0, 0, 0] [3i64, 1i64, 7i64, 0i64, 2i64] }
-- output { [4, 3, 2, 1, 1, 1] }
-- input { [1, 2] empty([0]i64) }
-- output { [1, 2] }

-- ==
-- entry: halves
-- input { [1i64, 6i64, 0i64] [5i64, 2i64] }
-- output { [[0, 2, 1, 1], [0, 3, 2, 0]] }

type~ acc 't = intrinsics.acc t

def hist [k] 'b (f: *acc ([k]i32) -> b -> acc ([k]i32)) (dest: *[k]i32) (xs: []b) : *[k]i32 =
  intrinsics.hist_stream dest (+) 0 f xs

def both (acc: *acc ([]i32)) (i: i64) = intrinsics.acc_write (intrinsics.acc_write acc i 1) (i + 1) 1

entry fixed (dest: *[]i32) (is: []i64) : []i32 = hist both dest is

def up_to (acc: *acc ([]i32)) (i: i64) = loop acc for j < i do intrinsics.acc_write acc j 1

entry varying (dest: *[]i32) (is: []i64) : []i32 = hist up_to dest is

def halved (acc: *acc ([]i32)) (i: i64) =
  (loop (acc, j) = (acc, i) while j > 0 do (intrinsics.acc_write acc (j % 4) 1, j / 2)).0

entry halves (xs: []i64) (ys: []i64) : [2][4]i32 =
  map (\(xs: []i64) -> hist halved (replicate 4 0) xs) [[xs[0], xs[1], xs[2]], [ys[0], ys[1], 0]]
