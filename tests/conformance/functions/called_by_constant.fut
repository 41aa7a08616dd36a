-- A function that only a constant calls, from inside a loop and from a branch.
-- ==
-- input { 3 } output { 74 }
-- input { -4 } output { -59 }

#[noinline]
def step (state: [3]i32) : [3]i32 =
  map (\x -> (x * 7 + 3) % 31) state

def start : [3]i32 =
  loop s = [1, 2, 3] for _i in 0..<5 do step s

def limit : i32 = if start[0] > start[1] then i32.sum (step start) else i32.sum start

def main (x: i32) : i32 = x * (limit - start[2]) + start[2]
