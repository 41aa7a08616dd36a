-- Holes that are applied: functions, functions of two arguments, a function among data, one by name.
-- ==
-- entry: two
-- input { 0i64 } error: hole
-- ==
-- entry: section
-- input { 0i64 } error: hole
-- ==
-- entry: named
-- input { 3i64 } error: hole
-- ==
-- entry: second
-- input { 3i64 } error: hole
-- ==
-- entry: over
-- input { [1i64, 2i64] } error: hole
-- ==
-- entry: first
-- input { 3i64 } output { 3i64 }

entry two (x: i64): bool = ??? x x
entry section (x: i64): bool = ??? (+ 1) x

def unwritten: (n: i64) -> [n]i64 = ???
entry named (x: i64) = unwritten x

def pair (x: i64): (i64, i64 -> i64) = (x, ???)
entry second (x: i64) = (pair x).1 x
entry first (x: i64) = let (a, _) = (x, ??? : i64 -> i64) in a
entry over (xs: []i64): []i64 = map (???) xs
