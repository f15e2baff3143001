"""Texts for the checks of tokenizers: what small ones are trained on, and what all of them encode."""

TRAINING = [
    "The quick brown fox jumps over the lazy dog. It doesn't matter whether you're here or there; we'll see.",
    "In 1998, 12345 people lived in the city, and 67.8 % of them spoke two languages (at least).",
    "def main(argv):\n    for i in range(10):\n        print(i, argv[i])\n\nreturn 0;\n",
    "El veloz murciélago hindú comía feliz cardillo y kiwi. La cigüeña tocaba el saxofón.",
    "Быстрая коричневая лиса прыгает через ленивую собаку, а потом спит.",
    "敏捷的棕色狐狸跳过了懒狗。我们今天去北京大学学习自然语言处理。",
    "素早い茶色の狐はのろまな犬を飛び越える。カタカナとひらがな。",
    "Größe, Straße, naïve café, Ångström, ﬁne ligatures, ½ cup, x² + y² = z².",
    "الثعلب البني السريع يقفز فوق الكلب الكسول. שלום עולם. नमस्ते दुनिया।",
    "Emoji 😀😃👍🏽 and 👨‍👩‍👧‍👦 families 🇫🇷, symbols ©®™ €£¥ → ⇒ ∑∫√.",
] * 3

CORPUS = [
    "", " ", "  ", "\n", "\n\n\n", "\t", " \n \t x", "a", "A", ".", "Hello, world!", "hello  world   three    four",
    "The capital of France is", "I'm sure they'll say it's what we've DON'T wouldn't 'S 'tis",
    "trailing space ", " leading space", "  two leading", "line one\nline two\r\nline three\n\n\nend\n",
    "\n leading newline", "tabs\tand\u00a0no-break\u2003em\u3000wide spaces\u2028sep\u2029par\u0085nel", "zero\u200bwidth\u200djoin\ufeffbom",
    "0 1 12 123 1234 12345 1234567890 3.14159 1,000,000 ½ ² Ⅻ ٣٤٥ १२३", "x=1;y=[2,3];z={'k':(4,)} # comment\n\treturn x**2 // y != z",
    "https://example.com/a_b?c=d&e=%20f#g user@host.org C:\\path\\to\\file", "<html><body class=\"x\">&amp;</body></html>",
    "!!! ??? ... --- *** ((())) [[]] {{}} <<>> ~~~ ``` $$ ^^ || \\\\ ++ ==", "naïve café Ångström cigüeña", "e\u0301 n\u0303 A\u030a decomposed",
    "ﬁ ligature ½ ㎏ Å Ⅸ ① ｆｕｌｌ ＷＩＤＴＨ", "Straße GROẞE ΣΊΣΥΦΟΣ ς İstanbul ſ ŉ ǅ", "Привет, как дела? ЁЛКА", "γειά σου Κόσμε",
    "敏捷的棕色狐狸跳过了懒狗。", "混合English和中文，还有123数字", "カタカナ ひらがな 漢字 ｶﾀｶﾅ が か\u3099", "한국어 텍스트 \u1112\u1161\u11ab",
    "السلام عليكم 123", "שָׁלוֹם עולם", "नमस्ते दुनिया क्षत्रिय", "ไทยไม่มีช่องว่าง", "Việt Nam tiếng Việt",
    "😀 😃👍🏽 👨‍👩‍👧‍👦 🇫🇷🇩🇪 ❤️ ☕︎", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟙𝟚𝟛 𠀀𠮷", "control\x00\x01\x1f\x7f\x80chars", "\ufffd replacement \ue000 private",
    "▁ meta ▁▁space▁", "under_score __init__ camelCase PascalCase kebab-case", "a" * 300, "supercalifragilisticexpialidocious" * 8,
    "word " * 200, " " * 100 + "x", "word\n" * 50, "The lazy dog\u0301s", "<0x41> <0x0A> <0xZZ>", "a\u0300\u0301\u0302b",
    "한글漢字かな mixed スクリプト text, with punctuation。「quotes」（parens）", "…—–‘’“”„«»‹›¿¡§¶†‡•‰",
]
# Where {0}, {1} and {2} are, the checks put special tokens of the tokenizer.
WITH_TOKENS = [
    "{0}", "{0}{1}", "{0}Hello{1}world{2}", " {0} Hello {1} world {2} ", "{0}\n\n{1}  x", "text{0}text", "x {0}{0}{0} y", "\n{2}\nwords {1}.",
    "{0}user\nWhat is 2+2?{1}\n{0}assistant\n", "{1}{1} é",
]
LONG = ["The quick brown fox. " * 5000, " " * 50000 + "x", "a" * 50000]
# What OpenVINO's ops do differently, by kind of tokenizer: official conversions differ too, and that is checked.
KNOWN = {
    "qwen2": {"e\u0301\u0323 \u0344": "NFC is a table of sequences, which does not put marks in order"},
    "t5": {"e\u0301\u0323": "NFKC is a table of sequences, which does not put marks in order"},
    "bert": {"a\u08d4b": "the library's accents are those of Unicode 8", "x\u2e52y": "the library's punctuation is that of Unicode 8"},
}
