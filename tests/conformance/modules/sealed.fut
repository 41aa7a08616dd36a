-- A module seen through a type, and a functor whose result is sealed.
-- ==
-- input { 0 }
-- output { 3 0 }
-- input { 1 }
-- output { 4 3 }
-- input { -7 }
-- output { -4 -21 }
-- input { 100 }
-- output { 103 300 }

module type stack = { type~ t val empty: t val push: i32 -> t -> t val sum: t -> i32 }
module s: stack = { type~ t = []i32 def empty: t = [] def push (x: i32) (s: t): t = [x] ++ s def sum (s: t) = i32.sum s }
module type num = { type t val add: t -> t -> t val of: i32 -> t val to: t -> i32 }
module twice (N: num): { val f: i32 -> i32 } = { def k = 2i32 def f (x: i32) = N.to (N.add (N.of x) (N.of (k * x))) }
module t = twice { type t = i64 def add (a: t) (b: t) = a + b def of = i64.i32 def to = i32.i64 }
def main (x: i32) = (s.sum (s.push x (s.push 3 s.empty)), t.f x)
