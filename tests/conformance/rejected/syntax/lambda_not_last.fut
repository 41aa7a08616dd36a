-- A lambda without parentheses among arguments.
-- ==
-- error: E0(101|202|213)

def main (xs: []i32) = map \x -> x + 1 xs : []f32
