-- A functor asks more of its argument than the signature promises.
-- ==
-- error: E0224

module type plain = (P: { val x: i32 }) -> { val y: i32 }
module f: plain = \(P: { val x: i32 val z: i32 }) -> { def y = P.x + P.z }
def main = 1i32
