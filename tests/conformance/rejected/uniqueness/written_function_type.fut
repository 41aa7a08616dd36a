-- The type of a function as written does not say that it consumes.
-- ==
-- error: E0221

def use (xs: *[]f32): f32 = (xs with [0] = 1)[0]
def plain: []f32 -> f32 = use
def main (xs: []f32) = plain xs
