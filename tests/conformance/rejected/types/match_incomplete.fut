-- A constructor without a case.
-- ==
-- error: E0211

type t = #a | #b i32 | #c
def f (x: t) = match x case #a -> 1i32 case #b y -> y
def main (x: i32) = f (#b x)
