-- Second derivatives, in all four combinations of the modes, and a third one.
-- ==
-- entry: forward_forward forward_reverse reverse_forward reverse_reverse
-- input { 2.0 } output { 48.0 }

-- ==
-- entry: third
-- input { 2.0 } output { 48.0 }

-- ==
-- entry: confusion
-- input { 3.0 } output { 1.0 }

def f (x: f64) = x * x * x * x

entry forward_forward x = jvp (\x -> jvp f x 1) x 1
entry forward_reverse x = jvp (\x -> vjp f x 1) x 1
entry reverse_forward x = vjp (\x -> jvp f x 1) x 1
entry reverse_reverse x = vjp (\x -> vjp f x 1) x 1
entry third x = vjp (\x -> jvp (\x -> vjp f x 1) x 1) x 1
entry confusion (x: f64) = jvp (\x -> x * jvp (\y -> x + y) 1 1) x 1
