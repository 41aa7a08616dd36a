-- Functions that call themselves on parts of an array, in nests level by level; a table is the same in all calls.
-- ==
-- entry: sorted
-- input { [3, 1, 2, 9, 7, 5, 4] } output { [1, 2, 3, 4, 5, 7, 9] }
-- input { empty([0]i32) } output { empty([0]i32) }

-- ==
-- entry: sorted_rows
-- input { [[3, 1, 2], [9, 7, 8]] } output { [[1, 2, 3], [7, 8, 9]] }

-- ==
-- entry: levels
-- input { [3, 1, 2, 9, 7, 5, 4] } output { [1, 2, 3, 4, 5, 7, 9] }

-- ==
-- entry: totals
-- input { 6i64 } output { [0i64, 0i64, 1i64, 3i64, 6i64, 10i64] }

-- ==
-- entry: reversed
-- input { 6i64 } output { [0i64, 0i64, 0i64, 1i64, 4i64, 10i64] }

-- ==
-- entry: places
-- input { [1, 3, 5, 7] [5, 1, 6, 0] } output { [2i64, 0i64, 3i64, 0i64] }

-- ==
-- entry: depths
-- input { 4i64 } output { 4i64 [0i64, 1i64, 2i64, 3i64] }

def quicksort [n] (xs: [n]i32): [n]i32 =
  if n <= 1
  then xs
  else let (less, more) = partition (< xs[0]) xs[1:]
       in (quicksort less ++ [xs[0]] ++ quicksort more) :> [n]i32

entry sorted (xs: []i32) = quicksort xs
entry sorted_rows (xss: [][]i32) = map quicksort xss

-- Both parts, and the parts of all parts, are sorted at once.
def by_level [n] (xs: [n]i32): [n]i32 =
  if n <= 1
  then xs
  else let (less, same, more) = partition2 (< xs[0]) (== xs[0]) xs
       let part k = if k == 0 then by_level less else if k == 1 then same else by_level more
       in (flatmap' part [0, 1, 2]).3 :> [n]i32

entry levels (xs: []i32) = by_level xs

def total [n] (xs: [n]i64): i64 = if n == 0 then 0 else if n == 1 then xs[0] else total xs[:n / 2] + total xs[n / 2:]
entry totals (n: i64) = map (\i -> total (iota i)) (iota n)

def reversed_of (xs: []i64): []i64 =
  let n = length xs
  in if n < 2 then xs else reversed_of xs[n / 2:] ++ reversed_of xs[:n / 2]

entry reversed (n: i64) = map (\i -> i64.sum (map2 (*) (reversed_of (iota i) :> [i]i64) (iota i))) (iota n)

def place [n] (table: [n]i32) (x: i32) (lo: i64) (hi: i64): i64 =
  if lo >= hi
  then lo
  else let mid = (lo + hi) / 2
       in if table[mid] < x then place table x (mid + 1) hi else place table x lo mid

entry places [n] (table: [n]i32) (xs: []i32) = map (\x -> place table x 0 n) xs

def depth (n: i64): i64 = if n == 0 then 0 else 1 + i64.maximum (map depth (iota n))
entry depths (n: i64) = (depth n, map depth (iota n))
