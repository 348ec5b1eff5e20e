"""LXMERT: a transformer over words, one over boxes, and one over both.

Questions go through `word_pieces` to BERT's numbers; these and the boxes' vectors through `network` to
scores; `pretrained` brings weights from a local file; `model` puts these together for LXMERT-p (pretrained)
and LXMERT-s (from scratch), `recipe` says how each is trained. Source: Tan and Bansal 2019.
"""
