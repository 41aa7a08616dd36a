-- Sequential loops of different length in every element.
-- ==
-- input { empty([0]i32) }
-- output { empty([0]i32) }
-- input { [7] }
-- output { [16] }
-- input { [7, 16, 26] }
-- output { [16, 4, 10] }
-- input { [7, 16, 26, 5, 14, 24, 3, 13, 22, 1, 11, 20, 30, 9, 18, 28, 7] }
-- output { [16, 4, 10, 5, 17, 10, 7, 9, 15, 0, 14, 7, 18, 19, 20, 18, 16] }

def collatz (n: i32): i32 =
  let (_, steps) = loop (k, c) = (n, 0) while k > 1 do
    if k % 2 == 0 then (k / 2, c + 1) else (3 * k + 1, c + 1)
  in steps
def main (xs: []i32): []i32 = map collatz xs
