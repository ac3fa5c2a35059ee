# SPDX-License-Identifier: BSD-3-Clause
#
# Where a C file can be broken by one small change, and what the change is.
#
# A file is cut into tokens; what lies in function bodies, enums, initialisers and macro bodies is
# looked at, and not comments, strings, include lines, declarations of structures, or the arguments
# of assert(). A mutant is one replacement of a stretch of the text:
#
#	a < b		a <= b and a >= b; the same way for the other comparisons, == and !=
#	a && b		a || b, and back
#	!a		a
#	7		8; 0 becomes 1 and 1 becomes 0; hexadecimal stays that
#	a + b		a - b, and back; a sign likewise
#	a & b		a | b, and back; &= and |= too
#	true		false, and back
#	a++, a += b	a; the same for -- and -=
#	if (a) return b;	nothing
#
# It may not compile: whoever uses it finds out.

import collections
import re

Token = collections.namedtuple("Token", "kind text start end")
# kind: what was done; old and new: the lines that it touches, before and after, as one line.
Mutant = collections.namedtuple("Mutant", "file line kind start end replacement old new")

TOKEN = re.compile(r"""
    (?P<comment>/\*.*?\*/|//[^\n]*)
  | (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<number>(?:0[xX][0-9a-fA-F]+|[0-9]+)[uUlL]*\b)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<space>[ \t\n]+|\\\n)
  | (?P<mark><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
""", re.X | re.S)

COMPARISONS = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"),
               "==": ("!=",), "!=": ("==",)}
SWAPS = {"&&": "||", "||": "&&", "+": "-", "-": "+", "&": "|", "|": "&", "&=": "|=", "|=": "&=",
         "true": "false", "false": "true"}
OPENING, CLOSING = "([{", ")]}"
# What may stand in front of a & that takes an address.
TYPE_NAME = re.compile(r"(u?int\d*(_t)?|size_t|uintptr_t|char|bool|void|struct|const)$")


def tokens_of(text, start=0):
    """All tokens of a text but spaces and comments; preprocessor lines are taken out before."""
    return [Token(m.lastgroup, m.group(), m.start() + start, m.end() + start)
            for m in TOKEN.finditer(text) if m.lastgroup not in ("space", "comment")]


def preprocessor_lines(text):
    """(start, end) of each, continuation lines included; not within a comment."""
    for m in re.finditer(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|^[ \t]*#(?:\\\n|/\*.*?\*/|[^\n])*',
                         text, re.S | re.M):
        if m.group().lstrip().startswith("#"):
            yield m.start(), m.end()


def matching(tokens, at):
    """The index of the token that closes the bracket at index `at`; the last if none does."""
    depth = 0
    for i in range(at, len(tokens)):
        if tokens[i].text in OPENING:
            depth += 1
        elif tokens[i].text in CLOSING:
            depth -= 1
            if depth == 0:
                return i
    return len(tokens) - 1


def is_code(before):
    """Whether a brace at file scope after these tokens holds code or values, not declarations."""
    words = [t.text for t in before]
    if "=" in words or "enum" in words:
        return True
    return bool(words) and words[-1] == ")"


def stretches(text):
    """Lists of tokens: each function body, enum, initialiser and macro body of a file."""
    blank = list(text)
    for start, end in preprocessor_lines(text):
        define = re.match(r"[ \t]*#[ \t]*define[ \t]+\w+(\([^)]*\))?", text[start:end])
        if define:
            yield tokens_of(text[start + define.end():end], start + define.end())
        for i in range(start, end):
            if text[i] != "\n":
                blank[i] = " "
    tokens = tokens_of("".join(blank))
    i = since = 0
    while i < len(tokens):
        word = tokens[i].text
        if word == "{" and i >= 2 and tokens[i - 2].text == "extern":
            since = i + 1
        elif word == "{":
            end = matching(tokens, i)
            if is_code(tokens[since:i]):
                yield tokens[i:end + 1]
            i = since = end
            # What follows a structure's body may be a table of it, `} rows[] = {`.
        elif word == ";":
            since = i + 1
        i += 1


def without_asserts(tokens):
    kept, i = [], 0
    while i < len(tokens):
        if tokens[i].text in ("assert", "_Static_assert") and i + 1 < len(tokens):
            i = matching(tokens, i + 1) + 1
            continue
        kept.append(tokens[i])
        i += 1
    return kept


def changed_number(word):
    digits = re.match(r"0[xX][0-9a-fA-F]+|[0-9]+", word).group()
    suffix = word[len(digits):]
    if digits[:2] in ("0x", "0X"):
        value = int(digits, 16)
        form = "0x%0" + str(len(digits) - 2) + "x"
    else:
        value, form = int(digits, 8 if re.match("0[0-7]", digits) else 10), "%d"
    return form % (0 if value == 1 else value + 1) + suffix


def takes_an_address(tokens, i):
    """Whether the & at index i is of one operand."""
    if i == 0:
        return True
    before = tokens[i - 1]
    if before.text == ")":
        # A cast, or the end of an operand.
        return i >= 2 and (tokens[i - 2].text == "*" or bool(TYPE_NAME.match(tokens[i - 2].text)))
    return before.kind not in ("name", "number") and before.text != "]" or before.text == "return"


def end_of_operand(tokens, i):
    """The index of the token that ends the expression from index i on: ; or , or a bracket."""
    while i < len(tokens) and tokens[i].text not in (";", ",") + tuple(CLOSING):
        i = matching(tokens, i) + 1 if tokens[i].text in OPENING else i + 1
    return i


def edits_at(tokens, i):
    """(kind, start, end, replacement) of each change to the token at index i."""
    token = tokens[i]
    word = token.text
    if token.kind == "number":
        yield "number", token.start, token.end, changed_number(word)
    elif word in COMPARISONS:
        for other in COMPARISONS[word]:
            yield "comparison", token.start, token.end, other
    elif word in SWAPS and not (word == "&" and takes_an_address(tokens, i)):
        yield "swap", token.start, token.end, SWAPS[word]
    elif word == "!":
        yield "not", token.start, token.end, ""
    elif word in ("++", "--"):
        yield "step", token.start, token.end, ""
    elif word in ("+=", "-="):
        end = end_of_operand(tokens, i)
        if end < len(tokens):
            yield "step", token.start, tokens[end].start, ""
    elif word == "if" and i + 1 < len(tokens):
        condition_end = matching(tokens, i + 1)
        if condition_end + 1 < len(tokens) and tokens[condition_end + 1].text == "return":
            end = end_of_statement(tokens, condition_end)
            yield "check", token.start, tokens[end].end, ";"


def end_of_statement(tokens, i):
    while i + 1 < len(tokens) and tokens[i].text != ";":
        i = matching(tokens, i) + 1 if tokens[i].text in OPENING else i + 1
    return i


def as_one_line(text):
    return " ".join(text.split())


def mutants_of(file, text):
    """Every mutant of a file's text, in the order of the text."""
    found = []
    for stretch in stretches(text):
        tokens = without_asserts(stretch)
        for i in range(len(tokens)):
            for kind, start, end, replacement in edits_at(tokens, i):
                line_start = text.rfind("\n", 0, start) + 1
                line_end = (text + "\n").find("\n", end)
                new = text[line_start:start] + replacement + text[end:line_end]
                found.append(Mutant(file, text.count("\n", 0, start) + 1, kind, start, end,
                                    replacement, as_one_line(text[line_start:line_end]),
                                    as_one_line(new)))
    return sorted(found, key=lambda m: (m.start, m.end, m.replacement))


def apply(text, mutant):
    return text[:mutant.start] + mutant.replacement + text[mutant.end:]


# ---- self-test ----

# Texts, and (old line, new line) of all their mutants.
EXAMPLES = [
    ("int f(int a)\n{\n\treturn a < 7;\n}\n",
     [("return a < 7;", "return a <= 7;"), ("return a < 7;", "return a >= 7;"),
      ("return a < 7;", "return a < 8;")]),
    ("int f(int a)\n{\n\tif (!a)\n\t\treturn 1;\n\tg(&a, (int *)&a, 0x0f & a);\n}\n",
     [("if (!a) return 1;", ";"), ("if (!a)", "if (a)"), ("return 1;", "return 0;"),
      ("g(&a, (int *)&a, 0x0f & a);", "g(&a, (int *)&a, 0x10 & a);"),
      ("g(&a, (int *)&a, 0x0f & a);", "g(&a, (int *)&a, 0x0f | a);")]),
    ("void f(void)\n{\n\tx++;\n\tfor (y += g(a, b); p->q;)\n\t\t;\n\tz = -w;\n}\n",
     [("x++;", "x;"), ("for (y += g(a, b); p->q;)", "for (y ; p->q;)"), ("z = -w;", "z = +w;")]),
    ("#include <a1.h>\n#define GUARD\n#define MASK 0xffu /* 8 bits */\n#if A < 3\n#endif\n",
     [("#define MASK 0xffu /* 8 bits */", "#define MASK 0x100u /* 8 bits */")]),
    ("#define LIST(X) \\\n\tX(a, true, \"1 or 2\") \\\n\tX(b, false, \"\")\n",
     [('X(a, true, "1 or 2") \\', 'X(a, false, "1 or 2") \\'),
      ('X(b, false, "")', 'X(b, true, "")')]),
    ("enum e {\n\tA = 1 << 3, /* < 4 */\n};\nstruct s {\n\tint a[4];\n};\nint n = 5;\n",
     [("A = 1 << 3, /* < 4 */", "A = 0 << 3, /* < 4 */"),
      ("A = 1 << 3, /* < 4 */", "A = 1 << 4, /* < 4 */")]),
    ("static const struct s {\n\tint a[4];\n} rows[] = {\n\t{0, A | B}, {'1', \"2\"},\n};\n",
     [("{0, A | B}, {'1', \"2\"},", "{1, A | B}, {'1', \"2\"},"),
      ("{0, A | B}, {'1', \"2\"},", "{0, A & B}, {'1', \"2\"},")]),
    ("struct s f(struct t t)\n{\n\tassert(a < 3 && b);\n\tok = a && b;\n}\n_Static_assert(1 == 1);\n",
     [("ok = a && b;", "ok = a || b;")]),
    ("extern \"C\" {\nint g(int a);\nenum {\n\tX = 2\n};\n}\n", [("X = 2", "X = 3")]),
]


def self_test():
    failed = 0
    for text, expected in EXAMPLES:
        mutants = mutants_of("f.c", text)
        got = [(m.old, m.new) for m in mutants]
        if sorted(got) != sorted(expected):
            failed += 1
            print("of %r\n  expected %r\n  got      %r" % (text, expected, got))
        elif any(apply(text, m) == text for m in mutants):
            failed += 1
            print("of %r: a mutant is no change" % text)
    print("RESULT mutate_self_test passed=%d failed=%d skipped=0"
          % (len(EXAMPLES) - failed, failed))
    return failed == 0
