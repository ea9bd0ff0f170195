"""The operators of int8 TFLite models: what each becomes on every target, and the page about it."""
