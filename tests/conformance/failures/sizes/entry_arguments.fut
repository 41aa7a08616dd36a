-- Arguments of an entry that must agree in size are checked before.
-- ==
-- input { [10, 20, 30] [10, 20, 30] }
-- output { [20, 40, 60] }
-- input { [10, 20, 30] [46, 0, -45, 10] }
-- error: R0105.*argument 2 `b`
-- input { empty([0]i32) [10, 20, 30] }
-- error: R0105

def main [n] (a: [n]i32) (b: [n]i32): [n]i32 = map2 (+) a b
