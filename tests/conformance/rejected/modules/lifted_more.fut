-- A type that hides a size behind one that may not.
-- ==
-- error: E0224

module m: { type t } = { type~ t = []i32 }
def main = 1i32
