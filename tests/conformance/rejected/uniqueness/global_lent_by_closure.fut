-- The same by way of a function that is itself the result of a definition, and by way of a lambda.
-- ==
-- error: E0221

def table: [3]i32 = [1, 2, 3]
def get = let from (b: bool) = if b then table else [0, 0, 0] in from
def first (b: bool) = get b with [0] = 5
def second (x: i32) = (x |> (\_ -> table)) with [0] = 5
def main = 1i32
