-- Definitions that are no functions, of any type: functions in tuples and records, empty arrays, in modules too.
-- ==
-- input { 3 2.5 } output { 3 2.5 [3, 4] [2.5] [1, 0] [0.5, 0.5, 0.25] 0i64 0i64 }

def ids = (\x -> x, \y -> y)
def none = []
def ways = let turn = reverse let same = \xs -> xs in {turn, same}

module type pair = { val both 'a: (a -> a, a -> a)  val nothing 't: [0]t }
module sealed: pair = { def both = ids def nothing = none }

def main (x: i32) (y: f64) =
  (ids.0 x, sealed.both.1 y, ways.turn [4, x], ways.same [y], ways.turn [0, 1], ways.turn [0.25, 0.5, 0.5],
   length (none : [0]i32), length (sealed.nothing : [0](f32, bool)))
