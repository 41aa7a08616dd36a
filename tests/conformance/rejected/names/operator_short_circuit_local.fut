-- Nor can it be defined locally.
-- ==
-- error: E0205.*`\|\|`

def main (x: bool) = let (||) (a: bool) (_: bool) = a in x || x
