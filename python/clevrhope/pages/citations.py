"""The works that pages cite."""

PAPER = (
    "Berlot-Attwell, Agrawal, Carrell, Sharma and Saphra, "
    '"Attribute Diversity Determines the Systematicity Gap in VQA" (EMNLP 2024, '
    "doi 10.18653/v1/2024.emnlp-main.537)"
)
"""The paper whose dataset this one follows."""

CLEVR = (
    "Johnson, Hariharan, van der Maaten, Fei-Fei, Zitnick and Girshick, "
    '"CLEVR: A Diagnostic Dataset for Compositional Language and Elementary Visual Reasoning" (2017)'
)
"""Credit for CLEVR's scenes and images, which their licence, CC BY 4.0, requires."""

COVR = (
    'Bogin, Gupta, Gardner and Berant, "COVR: A Test-Bed for Visually Grounded Compositional Generalization '
    'with Real Images" (2021)'
)
"""The paper whose questions over several images the dataset's follow."""
