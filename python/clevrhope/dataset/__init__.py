"""The folder of a dataset: where its files are, and how each kind of file is written and read.

`layout` defines where files are, `manifest` what a folder is bound to and what it holds. Each other module
writes or reads one kind of file, always as a whole: `questions_h5`, `images_h5`, `passes_h5`, `clevr_json`,
`vocab`. `question_kinds` has a row for each kind of questions, with the columns of its files; all kinds are
read as a `question_table.QuestionTable`. For the audit, `split_files`, `scene_files` and `native_reader` read
finished files with code of their own.
"""
