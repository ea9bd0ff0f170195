"""What emitters of C share, whatever the processor: kernels, layers, their choice, their text."""
