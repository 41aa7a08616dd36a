-- A type parameter that was not written stands for data where it is put into an array, or comes out of a branch.
-- ==
-- error: E0218

def couple x y = [x, y]
def by_array (x: i32) = (couple (+ 1) (+ 2))[0] x
def choose b x y = if b then x else y
def by_branch (x: i32) = choose (x > 0) (+ 1) (+ 2) x
def again b x y = choose b x y
def by_other (x: i32) = again (x > 0) (+ 1) (+ 2) x
def main = 1i32
