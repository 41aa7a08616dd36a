-- Functions that call themselves, and each other, on numbers: on the host, and at every point of a nest.
-- ==
-- entry: factorials
-- input { 6i64 } output { 720i64 [1i64, 1i64, 2i64, 6i64, 24i64, 120i64] }
-- input { 0i64 } output { 1i64 empty([0]i64) }

-- ==
-- entry: fibonacci
-- input { [0i64, 1i64, 7i64, 2i64, 10i64] } output { [0i64, 1i64, 13i64, 1i64, 55i64] }

-- ==
-- entry: parities
-- input { 4i64 } output { [true, false, true, false] true }

-- ==
-- entry: sums
-- input { 3i64 2i64 } output { [[0i64, 1i64], [1i64, 2i64], [3i64, 4i64]] }

-- ==
-- entry: endless
-- input { 1i64 } error: R0107

-- ==
-- entry: depths
-- input { [0i64, 19i64, 7i64] } output { [0i64, 19i64, 7i64] }

def factorial (n: i64) = if n == 0 then 1 else n * factorial (n - 1)
entry factorials (n: i64) = (factorial n, map factorial (iota n))

def fib (n: i64): i64 = if n < 2 then n else fib (n - 1) + fib (n - 2)
entry fibonacci (ns: []i64) = map fib ns

def even (n: i64): bool = if n == 0 then true else odd (n - 1)
def odd (n: i64): bool = if n == 0 then false else even (n - 1)
entry parities (n: i64) = (map even (iota n), even n)

def sum_to (n: i64) (acc: i64): i64 = if n == 0 then acc else sum_to (n - 1) (acc + n)
entry sums (n: i64) (k: i64) = map (\i -> map (sum_to i) (iota k)) (iota n)

#[depth(20)]
def down (n: i64): i64 = down (n + 1) + 1
entry endless (n: i64) = down n

#[depth(20)]
def depth (n: i64): i64 = if n == 0 then 0 else depth (n - 1) + 1
entry depths (ns: []i64) = map depth ns
