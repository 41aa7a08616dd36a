-- Abbreviations with type and size parameters.
-- ==
-- input { empty([0][0]i32) }
-- output { empty([0]i32) 0i64 empty([0]i32) }
-- input { [[46]] }
-- output { [46] 1i64 [46] }
-- input { [[46, 0, -45], [10, -36, 20], [-26, 30, -16]] }
-- output { [46, -36, -16] 9i64 [46, 0, -45, 10, -36, 20, -26, 30, -16] }
-- input {
--   [[46, 0, -45, 10, -36], [20, -26, 30, -16, 39], [-6, 49, 4, -42, 13], [-32, 23, -23, 33, -13], [43, -3,
--   -49, 7, -39]]
-- }
-- output {
--   [46, -26, 4, 33, -39] 25i64 [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23,
--   -23, 33, -13, 43, -3, -49, 7, -39]
-- }

type pair 'a 'b = (a, b)
type square [n] 't = [n][n]t
type~ bag 't = {items: []t, count: i64}
def diag [n] (m: square [n] i32): [n]i32 = map (\i -> m[i, i]) (iota n)
def mk 'a 'b (a: a) (b: b): pair a b = (a, b)
def pack 't (xs: []t): bag t = {items = xs, count = length xs}
def main [n] (m: [n][n]i32) = let (a, b) = mk (diag m) (pack (flatten m)) in (a, b.count, b.items)
