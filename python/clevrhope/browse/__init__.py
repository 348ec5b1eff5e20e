"""Pages for browsing a dataset: an index of its questions, and a server on this machine.

`folder` reads the dataset, `index` finds questions in it, and `models` holds predictions about them. `views`
collects the content of a page, and `pages` writes it as HTML for `server`.
"""
