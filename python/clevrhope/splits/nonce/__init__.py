"""Episodes with nonce words: a support that teaches words, and a question about two of them together."""
