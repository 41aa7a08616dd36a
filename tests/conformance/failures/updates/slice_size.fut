-- A slice replaced by an array of another length.
-- ==
-- input { [10, 20, 30] [1, 2] }
-- output { [1, 2, 30] }
-- input { [10, 20, 30] [1, 2, 3] }
-- error: R0105
-- input { [10, 20, 30] empty([0]i32) }
-- error: R0105

def main (xs: *[]i32) (v: []i32): []i32 = let k = length v + 0 in xs with [0:2] = (v :> [2]i32)
