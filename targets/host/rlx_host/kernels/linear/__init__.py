"""Convolutions and dense layers as products of int8 values and packed weights."""
