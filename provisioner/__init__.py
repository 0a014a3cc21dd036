"""Declarative environment provisioner for PyTorch on NVIDIA GPUs."""

__version__ = "0.1.0"
