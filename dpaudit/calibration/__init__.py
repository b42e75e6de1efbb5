"""How often each bound is above the truth, measured on mechanisms of known epsilon."""
