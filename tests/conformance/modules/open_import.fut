-- `open import` offers what a file offers; `module m = import` puts it into a module.
-- ==
-- input { 3 } output { 31 21 62 4 }
import "library/offering"

module t = import "library/tools"
module u = t.twist { type t = i32 def f (x: i32) = x * 2 }

def main (x: i32) = (shown x, shown_two, u.go x - 2, t.map 5)
