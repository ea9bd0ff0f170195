"""Layer norm and RMS norm of float32 over the last axes, alone or after an addition."""
