-- Functions that give out arrays of the program's own, directly, by way of closures and modules; copies are updated.
-- ==
-- input { 1i64 true } output { [1, 2, 3] [1, 7, 3] [1, 2, 3] 3 [9, 2, 3] }
-- input { 0i64 false } output { [1, 2, 3] [7, 2, 3] [0, 0, 0] 0 [9, 2, 3] }

def table: [3]i32 = [1, 2, 3]
def get (_: i64) = table
def choose = let from (b: bool) = if b then table else replicate 3 0 in from
module m: { val all: i64 -> [3]i32 } = { def own = copy table def all (_: i64) = own }

def main (i: i64) (b: bool) =
  (get i, copy (get i) with [i] = 7, choose b, (choose b)[2], copy (m.all i) with [0] = 9)
