-- A loop whose unique parameter is a record, parts of which a local function with a parameter of the same name consumes.
-- ==
-- input { [1, 2] 2i64 } output { [2, 3] [1, 2] }

type state [n] = {count: [n]i32, seen: [n]i32}

def main [n] (xs: [n]i32) (k: i64) =
  let state: *state [n] = {count = copy xs, seen = copy xs}
  let step (state: *state [n]) (i: i64): *state [n] = state with count[i] = state.count[i] + 1
  let {count, seen} = loop (state: *state [n]) = state for i < k do step state i
  in (count, seen)
