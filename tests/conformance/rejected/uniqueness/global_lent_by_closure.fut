-- The same by way of a function that is itself the result of a definition or of a function, and by way of a lambda.
-- ==
-- error: E0222

def table: [3]i32 = [1, 2, 3]
def get = let from (b: bool) = if b then table else [0, 0, 0] in from
def second (x: i32) = (x |> (\_ -> table)) with [0] = 5
def same (t: []i32) (_: i32) = t
def third = same table
def fourth (_: i32) = same table
def fifth (_: i32) = let inner (t: []i32) (_: i32) = t in inner table
def main = 1i32
