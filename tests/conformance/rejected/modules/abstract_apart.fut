-- Two modules of one signature have abstract types of their own.
-- ==
-- error: E0202

module type counter = { type t val start: t val next: t -> t }
module a: counter = { type t = i32 def start = 0i32 def next (x: t) = x + 1 }
module b: counter = a
def main = (a.next b.start, 1i32)
