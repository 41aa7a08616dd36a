-- A partially applied function that has consumed an argument gets no name, alone or in a tuple, even if it is used once.
-- ==
-- error: E0221

def f (xs: *[]i32) (i: i32) = xs with [0] = i
def alone (xs: *[]i32) = let g = f xs in g 1
def in_tuple (xs: *[]i32) = let (g, i) = (f xs, 1) in g i
def several (xs: *[]i32) (ys: *[]i32) = let g = (f xs, f ys) in g.0 1
def main = 1i32
