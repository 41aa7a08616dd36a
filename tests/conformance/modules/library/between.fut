-- Imports without offering what is imported.
import "tools"

def twice (x: i32) = shown (shown x)

module half = pair { def a = 3i32 }
module turn = twist
