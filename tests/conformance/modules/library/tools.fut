-- Functors that use names of this file, one of them local to it, and names that importers define again.
local def secret (x: i32) = x * 10

def shown (x: i32) = secret x + 1

def map (x: i32) = x - 1

module type number = { type t val f: t -> i32 }

module twist (N: number) = {
  def go (x: N.t) = secret (N.f x) + map 5

  module inner = { def k = secret 7 }
}

module pair (A: { val a: i32 }) (B: { val b: i32 }) = { def both = secret A.a + B.b }
