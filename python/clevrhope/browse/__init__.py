"""Pages for browsing a dataset: an index of its questions, a server on this machine, and a static export.

`folder` reads the dataset, `index` finds questions in it, and `models` holds predictions about them. `views`
collects the content of a page, and `pages` writes it as HTML, both for `server` and for `static`.
"""
