-- One name defined twice.
-- ==
-- error: E0205

def f = 1i32
def f = 2i32
def main (x: i32) = x + f
