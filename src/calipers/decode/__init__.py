"""Decoders: the denoising loop, DAEDAL, DreamOn."""

from calipers.decode.base import Decoder, decode
from calipers.decode.daedal import Daedal
from calipers.decode.denoise import Denoise
from calipers.decode.dreamon import DreamOn

__all__ = ["Daedal", "Decoder", "Denoise", "DreamOn", "decode"]
