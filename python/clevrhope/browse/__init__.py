"""Pages to look at a dataset: an index of its questions, a server on this machine, and a static export.

`folder` reads the dataset, `index` finds questions in it, and `models` holds predictions about them. `views`
gathers what a page shows, and `pages` writes it as HTML, for `server` and for `static` alike.
"""
