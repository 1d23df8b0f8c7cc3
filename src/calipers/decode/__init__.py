"""Decoders: the denoising loop, DAEDAL, DreamOn, LR-DLLM."""

from calipers.decode.base import Decoder, decode
from calipers.decode.daedal import Daedal
from calipers.decode.denoise import Denoise
from calipers.decode.dreamon import DreamOn
from calipers.decode.lrdllm import LrDllm

__all__ = ["Daedal", "Decoder", "Denoise", "DreamOn", "LrDllm", "decode"]
