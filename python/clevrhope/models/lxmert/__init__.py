"""LXMERT: a transformer over words, one over boxes, and one over both.

`word_pieces` turns questions into BERT's tokens. `model` has LXMERT-p (pretrained) and LXMERT-s (from
scratch), around transformers' network; `config` has their settings and recipes. Source: Tan and Bansal 2019.
"""
