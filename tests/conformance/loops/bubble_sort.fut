-- Sorting in place, two nested loops.
-- ==
-- input { empty([0]i32) }
-- output { empty([0]i32) }
-- input { [46] }
-- output { [46] }
-- input { [46, 0] }
-- output { [0, 46] }
-- input { [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] }
-- output { [-45, -42, -36, -32, -26, -16, -6, 0, 4, 10, 13, 20, 23, 30, 39, 46, 49] }

def main [n] (xs: [n]i32): [n]i32 =
  loop xs = copy xs for i < n do
    loop xs for j < n - 1 do
      if xs[j] > xs[j + 1] then let t = xs[j] let xs[j] = xs[j + 1] let xs[j + 1] = t in xs else xs
