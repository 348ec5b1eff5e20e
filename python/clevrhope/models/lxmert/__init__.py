"""LXMERT: a transformer over words, one over boxes, and one over both.

`word_pieces` turns questions into BERT's tokens, `network` turns these and the boxes' vectors into scores,
and `pretrained` reads weights from a local file. `model` combines them into LXMERT-p (pretrained) and
LXMERT-s (from scratch); `recipe` defines how each is trained. Source: Tan and Bansal 2019.
"""
