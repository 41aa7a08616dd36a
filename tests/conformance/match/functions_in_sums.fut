-- Functions as the contents of constructors: which constructor it is has to be known when the program is compiled.
-- ==
-- input { 5 [1, 2] }
-- output { 6 36 7 10 5 [3, 4] }
-- input { -1 empty([0]i32) }
-- output { 0 36 7 -2 -1 empty([0]i32) }

type^ step 'a = #apply (a -> a) | #twice (a -> a) a | #const a
type^ opt '^f = #some f | #none

def run 'a (s: step a) (x: a) : a =
  match s
  case #apply f -> f x
  case #twice f y -> f (f y)
  case #const y -> y

def call (f: opt (i32 -> i32 -> i32)) (x: i32) =
  match f
  case #some g -> g x x
  case #none -> x

def main (x: i32) (xs: []i32) =
  ( run (#apply (+ 1)) x
  , run (#twice (* 2) 9) x
  , run (#const 7) x
  , call (#some (+)) x
  , call #none x
  , map (run (#apply (+ 2))) xs
  )
