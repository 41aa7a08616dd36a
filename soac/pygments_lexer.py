"""Programs in colour wherever Pygments is used: `pygmentize a.soac`, MkDocs, Sphinx, notebooks."""

from __future__ import annotations

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

_NAME = r"(?:[A-Za-z][A-Za-z0-9_']*|_[A-Za-z0-9_'][A-Za-z0-9_']*)"
_END = r"(?![A-Za-z0-9_'])"
DECLARATIONS = ("def", "entry", "type", "module", "val", "include", "import", "open", "local")
KEYWORDS = ("let", "in", "if", "then", "else", "loop", "for", "while", "do", "with", "match", "case", "assert", "fully")
PRIMITIVES = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64", "bool")


class SoacLexer(RegexLexer):
    """The tokens of a program; test blocks (`-- ==`) and documentation (`-- |`) are comments of their own kinds."""

    name = "soac"
    aliases = ("soac", "futhark")
    filenames = ("*.soac", "*.fut")
    mimetypes = ("text/x-soac",)
    url = ""

    tokens = {  # noqa: RUF012
        "root": [
            (r"\s+", Whitespace),
            (r"-- ==[ \t]*$(?:\n--.*$)*", Comment.Special),
            (r"-- \|.*$", String.Doc),
            (r"--.*$", Comment.Single),
            (rf"#\[(?:{_NAME}|[0-9]+|[(), ])*\]", Name.Decorator),
            (rf"#{_NAME}", Name.Label),
            (words(DECLARATIONS, suffix=_END), Keyword.Declaration),
            (words(KEYWORDS, suffix=_END), Keyword),
            (rf"(?:true|false){_END}", Keyword.Constant),
            (words(PRIMITIVES, suffix=_END), Keyword.Type),
            (rf"0[xX][0-9a-fA-F][0-9a-fA-F_]*\.[0-9a-fA-F_]+[pP][+-]?[0-9_]+(?:b?f16|f32|f64)?{_END}", Number.Float),
            (rf"[0-9][0-9_]*(?:\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?(?:b?f16|f32|f64)?{_END}", Number.Float),
            (rf"[0-9][0-9_]*(?:[eE][+-]?[0-9]+(?:b?f16|f32|f64)?|b?f16|f32|f64){_END}", Number.Float),
            (rf"0[xX][0-9a-fA-F][0-9a-fA-F_]*(?:[iu](?:8|16|32|64))?{_END}", Number.Hex),
            (rf"0[bB][01][01_]*(?:[iu](?:8|16|32|64))?{_END}", Number.Bin),
            (rf"(?:0[rR][IVXLCDM][IVXLCDM_]*|[0-9][0-9_]*)(?:[iu](?:8|16|32|64))?{_END}", Number.Integer),
            (r"'(?:[^'\\\n]|\\(?:x[0-9a-fA-F]+|[0-9]+|.))'", String.Char),
            (r'"(?:[^"\\\n]|\\(?:[0-9]+|.))*"', String),
            (rf"'[~^]?{_NAME}", Name.Variable),
            (rf"{_NAME}(?=\.{_NAME}|\.\(|\.[-+*/%=!><|&^])", Name.Namespace),
            (_NAME, Name),
            (r"\.\.[.<>]?|[-+*/%=!><|&^][-+*/%=!><|&^.]*|:>?|\\|\?\?\?|[`~]", Operator),
            (r"_", Name),
            (r"[()\[\]{},.?]", Punctuation),
        ]
    }
