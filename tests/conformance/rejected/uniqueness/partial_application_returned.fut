-- A partially applied function that has consumed a copy, as the result of functions, and composed.
-- ==
-- error: E0221

def f (xs: *[]i32) (i: i32) = xs with [0] = i
def make (xs: []i32) (j: i32) = f (copy xs)
def made (xs: []i32) = let g = make xs 1 in (g 1, g 2)
def in_place (xs: []i32) = let make () = f (copy xs) in let g = make () in (g 1, g 2)
def composed (xs: *[]i32) = (f xs >-> id) |> (\g -> (g 1, g 2))
def main = 1i32
