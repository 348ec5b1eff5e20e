"""Tensor-NMN: one module per program token, mapping maps to maps, connected as the program says.

`generator` turns questions into programs, `levels` orders the nodes of programs, and `engine` turns these and
images into scores, in one of the `forms`. `model` combines them; `recipe` defines how it is trained. Source:
Johnson et al. 2017b, as in the public code that the CLEVR-HOPE paper followed.
"""
