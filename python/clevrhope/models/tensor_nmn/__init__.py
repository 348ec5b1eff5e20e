"""Tensor-NMN: a module a program token, each from maps to maps, wired up as the program says.

Questions go through `generator` to programs, programs through the native module to `levels`, levels and
images through `engine` (in one of the `forms`) to scores; `model` puts these together, `recipe` says how it
is trained. Source: Johnson et al. 2017b, as the public code that the CLEVR-HOPE paper followed has it.
"""
