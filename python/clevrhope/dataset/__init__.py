"""Scenes, questions and images in, a folder that readers and people can use out.

`layout` says where things are, `manifest` what a folder is bound to and what it holds. Each other module
writes or reads one kind of file, always whole: `questions_h5`, `images_h5`, `clevr_json`, `vocab`,
`datasheet`, `contact_sheet`. `leaks` reads the finished files and looks for the held-out pair.
"""
