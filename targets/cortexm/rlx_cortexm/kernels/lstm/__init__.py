"""LSTM layers: a step of the cell state, and of the hidden state."""
