-- By way of a function that is itself the result of a definition or of a function, and by way of a lambda. A function
-- may hold on to such an array; what it then gives is not consumed.
-- ==
-- error: E022[12]

def table: [3]i32 = [1, 2, 3]
def get = let from (b: bool) = if b then table else [0, 0, 0] in from
def second (x: i32) = (x |> (\_ -> table)) with [0] = 5
def same (t: []i32) (_: i32) = t
def third = same table
def consuming_third (x: i32) = third x with [0] = 5
def fourth (_: i32) = same table
def consuming_fourth (x: i32) = fourth x x with [0] = 5
def main = 1i32
