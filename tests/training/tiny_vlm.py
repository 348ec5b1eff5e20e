"""A vision-language model of 150,000 random parameters, made in code: an Idefics3 with CLEVR's words."""

import re
from collections.abc import Iterable
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split
from transformers import (
    Idefics3Config,
    Idefics3ForConditionalGeneration,
    Idefics3ImageProcessor,
    Idefics3Processor,
    PreTrainedTokenizerFast,
)

SIDE_PX = 64
_IMAGE, _END = "<image>", "<end_of_utterance>"
_SPECIAL = ["<pad>", "<unk>", "<s>", "</s>", _IMAGE, "<fake_token_around_image>", "<global-img>", _END]
_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }} "
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}<end_of_utterance>{% endfor %}"
    "{% if add_generation_prompt %}assistant {% endif %}"
)
_WORD = r"<[\w/-]+>|\w+|[^\w\s]"


def write_tiny_vlm(folder: Path, texts: Iterable[str]) -> None:
    """Writes the model and its processor, whose vocabulary has the words of the texts."""
    words = sorted({word for text in (*texts, "user assistant") for word in re.findall(_WORD, text)})
    vocab = {word: number for number, word in enumerate(dict.fromkeys((*_SPECIAL, *words)))}
    tokenizer = Tokenizer(WordLevel(vocab, unk_token="<unk>"))
    tokenizer.pre_tokenizer = Split(" ", "removed")
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        extra_special_tokens=_SPECIAL[4:],
    )
    images = Idefics3ImageProcessor(
        size={"longest_edge": SIDE_PX}, max_image_size={"longest_edge": SIDE_PX}, do_image_splitting=False
    )
    processor = Idefics3Processor(images, fast, image_seq_len=4, chat_template=_TEMPLATE)
    config = Idefics3Config(
        image_token_id=vocab[_IMAGE],
        scale_factor=2,
        pad_token_id=0,
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": SIDE_PX,
            "patch_size": 16,
        },
        text_config={
            "model_type": "llama",
            "vocab_size": len(vocab),
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "pad_token_id": 0,
            "bos_token_id": 2,
            "eos_token_id": 3,
        },
    )
    Idefics3ForConditionalGeneration(config).save_pretrained(folder)
    processor.save_pretrained(folder)
