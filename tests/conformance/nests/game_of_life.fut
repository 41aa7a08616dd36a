-- A step of the game of life on a torus, repeated.
-- ==
-- input { empty([0][3]bool) 2 }
-- output { empty([0][3]bool) }
-- input { [[false]] 1 }
-- output { [[false]] }
-- input {
--   [[false, false, false, false, true, false], [true, false, true, true, false, true], [false, true, false,
--   false, false, false], [true, false, false, false, false, false], [false, false, false, false, false,
--   false]] 0
-- }
-- output {
--   [[false, false, false, false, true, false], [true, false, true, true, false, true], [false, true, false,
--   false, false, false], [true, false, false, false, false, false], [false, false, false, false, false,
--   false]]
-- }
-- input {
--   [[false, false, false, false, true, false], [true, false, true, true, false, true], [false, true, false,
--   false, false, false], [true, false, false, false, false, false], [false, false, false, false, false,
--   false]] 3
-- }
-- output {
--   [[false, false, false, false, false, false], [false, false, false, false, false, false], [false, false,
--   false, false, false, false], [false, false, false, false, false, false], [false, false, false, false,
--   false, false]]
-- }
-- input {
--   [[false, false, false, false, true, false, true, false, true, true, false, true, false, true, false,
--   false, false], [false, true, false, false, false, false, false, false, false, false, false, false,
--   false, true, false, false, true], [false, true, true, true, false, true, true, false, true, false, true,
--   false, false, false, false, false, false]] 2
-- }
-- output {
--   [[false, false, false, false, false, false, true, false, true, false, true, false, true, true, false,
--   false, true], [false, false, false, false, false, false, true, false, true, false, true, false, true,
--   true, false, false, true], [false, false, false, false, false, false, true, false, true, false, true,
--   false, true, true, false, false, true]]
-- }

def main [n][m] (world: [n][m]bool) (k: i32): [n][m]bool =
  loop w = world for _i < k do
    tabulate_2d n m (\i j ->
      let at a b = i32.bool w[(i + a) % n, (j + b) % m]
      let c = at (-1) (-1) + at (-1) 0 + at (-1) 1 + at 0 (-1) + at 0 1 + at 1 (-1) + at 1 0 + at 1 1
      in c == 3 || (w[i, j] && c == 2))
