-- Offers what it imports.
open import "tools"

def shown_two = shown 2
