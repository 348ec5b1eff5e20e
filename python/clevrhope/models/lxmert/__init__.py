"""LXMERT: a transformer over words, one over boxes, and one over both.

`word_pieces` turns questions into BERT's tokens, and `network` turns these and the boxes' vectors into
scores. `model` combines them into LXMERT-p (pretrained) and LXMERT-s (from scratch); `config` has their
settings and recipes. Source: Tan and Bansal 2019.
"""
