-- Operators of one's own; their precedence follows from their first characters.
-- ==
-- input { 2 3 }
-- output { 72 17 23 32 [12, 13] -2 }
-- input { -1 0 }
-- output { 9 11 -10 -1 [9, 10] -2 }

def (+^) (a: i32) (b: i32) = a + 10 * b
def (*.) (a: i32) (b: i32) = a * b + 1
def (<!>) (a: i32) (b: i32) = if a < b then a else b
def (|>>) (a: i32) (b: i32) = a - b
def main (x: i32) (y: i32) = (x +^ y *. 2, x *. y +^ 1, x +^ y <!> y +^ x, (+^) x y, map (+^ 1) [x, y], x |>> y |>> 1)
