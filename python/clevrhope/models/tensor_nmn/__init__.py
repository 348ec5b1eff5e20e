"""Tensor-NMN: one module per program token, from maps to maps, connected as the program says.

`generator` turns questions into programs, `levels` programs into an order of their nodes, and `engine` these
and images into scores, in one of the `forms`. `model` combines them; `recipe` says how it is trained. Source:
Johnson et al. 2017b, as in the public code that the CLEVR-HOPE paper followed.
"""
