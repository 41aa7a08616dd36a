-- A recursive function has no derivative, in either mode.
-- ==
-- error: E0228

def power (x: f64) (n: i64): f64 = if n == 0 then 1 else x * power x (n - 1)
def reverse (x: f64) = vjp (\x -> power x 5) x 1
def forward (x: f64) = jvp (\x -> power x 5) x 1
entry main (x: f64) = (reverse x, forward x)
