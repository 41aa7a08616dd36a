-- Training of a small network by gradient descent: two layers, tanh between them, the mean of squared errors. The
-- gradient comes from reverse mode (`vjp`), in one sweep for all weights.
-- ==
-- entry: main
-- input { 400i64 0.25f32 [[0f32, 0f32], [0f32, 1f32], [1f32, 0f32], [1f32, 1f32]] [0f32, 1f32, 1f32, 0f32] } output { true }
-- ==
-- entry: gradient
-- random input { [6][3]f32 [6]f32 [6]f32 [5][3]f32 [5]f32 } auto output

-- The weights and biases of the hidden layer, and the weights of the result.
type network [h] [n] = ([h][n]f32, [h]f32, [h]f32)

def predict [h] [n] ((w, b, v): network [h] [n]) (x: [n]f32) : f32 =
  let hidden = map2 (\ws c -> f32.tanh (f32.sum (map2 (*) ws x) + c)) w b
  in f32.sum (map2 (*) v hidden)

def loss [h] [n] [k] (net: network [h] [n]) (xs: [k][n]f32) (ys: [k]f32) : f32 =
  f32.sum (map2 (\x y -> let e = predict net x - y in e * e) xs ys) / f32.i64 k

def step [h] [n] [k] (rate: f32) (xs: [k][n]f32) (ys: [k]f32) (net: network [h] [n]) : network [h] [n] =
  let (w, b, v) = net
  let (w', b', v') = vjp (\net -> loss net xs ys) net 1
  let down a d = a - rate * d
  in (map2 (map2 down) w w', map2 down b b', map2 down v v')

entry gradient [h] [n] [k] (w: [h][n]f32) (b: [h]f32) (v: [h]f32) (xs: [k][n]f32) (ys: [k]f32) =
  vjp (\net -> loss net xs ys) (w, b, v) 1

-- Weights between -1 and 1 that look random.
def start (h: i64) (n: i64) : network [h] [n] =
  let weight (i: i64) = f32.sin (f32.i64 (i * i + 3 * i + 1))
  in (tabulate_2d h n (\i j -> weight (i * n + j)), tabulate h (\i -> weight (i + 50)), tabulate h (\i -> weight (i + 90)))

-- Whether eight hidden units learn the samples: the loss falls below a thousandth.
entry main [n] [k] (steps: i64) (rate: f32) (xs: [k][n]f32) (ys: [k]f32) : bool =
  let net = loop net = start 8 n for _i < steps do step rate xs ys net
  in loss net xs ys < 1e-3
