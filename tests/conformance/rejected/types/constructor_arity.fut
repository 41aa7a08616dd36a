-- A constructor with too much in it.
-- ==
-- error: E02(02|16)

type t = #a | #b i32
def f (x: t) = match x case #a -> 0i32 case #b y -> y
def main (x: i32) = f (#b x x)
