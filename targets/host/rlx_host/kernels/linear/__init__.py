"""Convolutions and dense layers as products of codes and packed weights."""
