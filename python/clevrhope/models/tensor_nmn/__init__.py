"""Tensor-NMN: one module per program token, mapping maps to maps, connected as the program says.

`generator` turns questions into programs, `levels` orders the nodes of programs, and `engine` turns these and
images into scores with its `modules`. `model` combines them; `config` has the settings and the stages of its
training. Source: Johnson et al. 2017b, as in the public code that the CLEVR-HOPE paper followed.
"""
