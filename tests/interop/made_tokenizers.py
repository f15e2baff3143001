"""Tokenizers of every kind for the checks, trained here on a few texts: {name: (Tokenizer, tokenizer_config)}."""

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from tokenizer_texts import TRAINING

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"
            r"\s*[\r\n]+|\s+(?!\S)|\s+")


def special(*tokens, **flags):
    return [AddedToken(token, special=True, normalized=False, **flags) for token in tokens]


def byte_level(pre_tokenizer, normalizer=None, ignore_merges=False, size=600):
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizer, decoders.ByteLevel()
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.train_from_iterator(TRAINING, trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    return tokenizer


def split(pattern, behavior="isolated"):
    return pre_tokenizers.Split(Regex(pattern), behavior)


def sequence(*steps):
    return pre_tokenizers.Sequence([*steps, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def gpt2():
    tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False))
    tokenizer.add_special_tokens(special("<|endoftext|>"))
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer, {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}


def roberta():
    tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True))
    tokenizer.add_special_tokens(special("<s>", "<pad>", "</s>", "<unk>") + special("<mask>", lstrip=True))
    ids = tokenizer.token_to_id
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", ids("</s>")), ("<s>", ids("<s>")))
    return tokenizer, {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "mask_token": "<mask>", "model_max_length": 512}


def llama3():
    tokenizer = byte_level(sequence(split(LLAMA3)), ignore_merges=True)
    tokenizer.add_special_tokens(special("<|begin_of_text|>", "<|end_of_text|>", *(f"<|reserved_special_token_{i}|>" for i in range(251)),
                                         "<|eot_id|>"))
    bos = tokenizer.token_to_id("<|begin_of_text|>")
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=True),
        processors.TemplateProcessing("<|begin_of_text|> $A", "<|begin_of_text|> $A <|begin_of_text|>:1 $B:1", [("<|begin_of_text|>", bos)])])
    return tokenizer, {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>", "padding_side": "left", "model_max_length": 131072}


def qwen2():
    tokenizer = byte_level(sequence(split(QWEN2)), normalizers.NFC())
    tokenizer.add_special_tokens(special("<|endoftext|>", "<|im_start|>", "<|im_end|>"))
    tokenizer.add_tokens([AddedToken("<tool_call>", normalized=False), AddedToken("</tool_call>", normalized=False),
                          AddedToken("<think>", normalized=False), AddedToken("</think>", normalized=False)])
    return tokenizer, {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "padding_side": "left"}


def o200k():
    tokenizer = byte_level(sequence(split(O200K, "removed")), size=500)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(O200K), "removed", invert=True),
                                                       pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.add_special_tokens(special("<|endoftext|>"))
    return tokenizer, {"eos_token": "<|endoftext|>"}


def deepseek():
    tokenizer = byte_level(sequence(split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"), split(DEEPSEEK)))
    tokenizer.add_special_tokens(special("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"))
    tokenizer.add_tokens([AddedToken("<｜fim▁hole｜>", normalized=True)])
    bos = tokenizer.token_to_id("<｜begin▁of▁sentence｜>")
    tokenizer.post_processor = processors.TemplateProcessing("<｜begin▁of▁sentence｜> $A", None, [("<｜begin▁of▁sentence｜>", bos)])
    return tokenizer, {"bos_token": "<｜begin▁of▁sentence｜>", "eos_token": "<｜end▁of▁sentence｜>"}


def starcoder():
    tokenizer = byte_level(pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                    pre_tokenizers.ByteLevel(add_prefix_space=False)]))
    tokenizer.add_special_tokens(special("<|endoftext|>", "<fim_prefix>"))
    return tokenizer, {"eos_token": "<|endoftext|>"}


def falcon():
    tokenizer = byte_level(pre_tokenizers.Sequence([pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=False),
                                                    pre_tokenizers.Digits(individual_digits=False), split("[0-9][0-9][0-9]")]))
    tokenizer.add_special_tokens(special(">>TITLE<<", "<|endoftext|>"))
    return tokenizer, {"eos_token": "<|endoftext|>"}


def pieces_bpe(normalizer, pre_tokenizer, decoder):
    """Byte-pair encoding over characters with bytes for the rest, as SentencePiece's models are written."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    trainer = trainers.BpeTrainer(vocab_size=900, show_progress=False, limit_alphabet=120,
                                  special_tokens=["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256))])
    tokenizer.train_from_iterator(["▁" + text.replace(" ", "▁") for text in TRAINING], trainer)
    state = __import__("json").loads(tokenizer.to_str())
    state["added_tokens"] = state["added_tokens"][:3]  # bytes are tokens of the model, not added ones
    tokenizer = Tokenizer.from_str(__import__("json").dumps(state))
    tokenizer.normalizer, tokenizer.decoder = normalizer, decoder
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A", "<s> $A <s>:1 $B:1", [("<s>", tokenizer.token_to_id("<s>"))])
    return tokenizer, {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "padding_side": "left"}


def llama2():
    return pieces_bpe(normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), None,
                      decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]))


def mistral():
    return pieces_bpe(None, pre_tokenizers.Metaspace("▁", "first", False),
                      decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]))


def gemma():
    tokenizer, config = pieces_bpe(normalizers.Replace(" ", "▁"), pre_tokenizers.Split(" ", "merged_with_previous"),
                                   decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]))
    tokenizer.add_tokens([AddedToken(f"<unused{i}>", normalized=False) for i in range(6000)])
    tokenizer.add_tokens([AddedToken("\n" * i, normalized=False) for i in range(2, 32)])
    return tokenizer, config


def word_piece(lowercase, strip_accents=None):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=strip_accents)
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece("##", cleanup=True)
    tokenizer.train_from_iterator(TRAINING, trainers.WordPieceTrainer(
        vocab_size=900, show_progress=False, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    ids = tokenizer.token_to_id
    tokenizer.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", ids("[CLS]")), ("[SEP]", ids("[SEP]"))])
    return tokenizer, {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]", "mask_token": "[MASK]",
                       "model_max_length": 512}


def bert():
    return word_piece(lowercase=True)


def bert_cased():
    return word_piece(lowercase=False, strip_accents=False)


def unigram(normalizer, pre_tokenizer):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder = normalizer, pre_tokenizer, decoders.Metaspace()
    tokenizer.train_from_iterator(TRAINING, trainers.UnigramTrainer(
        vocab_size=500, show_progress=False, unk_token="<unk>", special_tokens=["<s>", "<pad>", "</s>", "<unk>"]))
    return tokenizer


def t5():
    tokenizer = unigram(normalizers.NFKC(), pre_tokenizers.Metaspace())
    tokenizer.add_special_tokens(special(*(f"<extra_id_{i}>" for i in range(100))))
    tokenizer.post_processor = processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", tokenizer.token_to_id("</s>"))])
    return tokenizer, {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>", "model_max_length": 512}


def xlm_roberta():
    tokenizer = unigram(normalizers.Sequence([normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip(left=False, right=True)]),
                        pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]))
    tokenizer.add_special_tokens(special("<mask>", lstrip=True))
    ids = tokenizer.token_to_id
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", "<s> $A </s> </s> $B </s>",
                                                             [("<s>", ids("<s>")), ("</s>", ids("</s>"))])
    return tokenizer, {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}


def words():
    """Old splitters, and expressions with word characters and lines."""
    tokenizer = byte_level(pre_tokenizers.Sequence([split(r"^#.*$|\w+\b", "merged_with_next"), split("[,;]", "merged_with_previous"),
                                                    pre_tokenizers.ByteLevel(add_prefix_space=False)]))
    tokenizer.add_special_tokens(special("<s>"))
    return tokenizer, {"eos_token": "<s>"}


def plain_words():
    tokenizer, config = word_piece(lowercase=False)
    tokenizer.normalizer, tokenizer.pre_tokenizer = None, pre_tokenizers.Whitespace()
    return tokenizer, config


KINDS = {made.__name__: made for made in
         (gpt2, roberta, llama3, qwen2, o200k, deepseek, starcoder, falcon, llama2, mistral, gemma, bert, bert_cased, t5, xlm_roberta, words,
          plain_words)}
