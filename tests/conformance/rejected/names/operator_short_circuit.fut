-- An operator that decides whether its right operand is evaluated cannot be defined.
-- ==
-- error: E0205.*&&

def (&&) (x: bool) (y: bool) = x == y
def main (x: bool) = x && x
