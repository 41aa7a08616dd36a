-- A constructor that the type lacks.
-- ==
-- error: E0216

type t = #a | #b i32
def main (x: i32) = match (#a : t) case #a -> 1 case #c -> 2 case #b _ -> 3
