"""Sentences are free to change: no test repeats one, and every refusal has a code to go by."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("dpaudit", "attacks", "canaries")

REPEATING: dict[str, int] = {}
"""Test files that still repeat sentences, and how many: the numbers may only fall."""

CODELESS: dict[str, int] = {}
"""Modules that still refuse without a code, and how often: the numbers may only fall."""

GUARD = 'if __name__ == "__main__":'
"""A line of every script that starts processes, which one sentence of the package cites."""

GAP = re.compile(r"\.\*|\\d\+|\n|\{[^}]*\}")
"""What parts the literal pieces of a pattern or a template."""

KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")

NAME = re.compile(r"[A-Za-z0-9]\w*([.-]\w+)*")
"""The name of an option, a setting, a field or an environment variable."""

CHECKS = ("positive", "in_range", "at_least", "whole", "not_above", "one_of")
"""Functions of dpaudit.checks whose first argument is an option, or the words for one."""


def modules(*folders):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not any(parent.is_symlink() for parent in path.parents):
                yield path


def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def texts(tree):
    """All strings of a module but its docstrings."""
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


def pieces(text):
    """What a text of a test could repeat of a sentence: three words or more in one piece."""
    plain = re.sub(r"\\(.)", r"\1", text)
    for piece in map(str.strip, GAP.split(plain)):
        if piece.count(" ") >= 2 and len(piece) >= 15 and piece != GUARD:
            yield piece


def repeated(tree, sentences):
    """The texts of a test that repeat a sentence of the package."""
    return [text for text in texts(tree) if any(piece in sentences for piece in pieces(text))]


def codeless(tree):
    """The lines that make a BadInput without a code, or with one that is not in kebab case."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "BadInput":
            continue
        given = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "code")]
        if not given or not all(map(usable, given)):
            yield node.lineno


def nameless(tree):
    """The lines that blame an option by words of a sentence or by its dashes, not by its name."""
    named = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if called == "of":
            named.update(map(id, node.args[1:]))
        first = node.args[:1] if called in CHECKS and id(node) not in named else []
        given = [*first, *(k.value for k in node.keywords if k.arg == "option")]
        if any(isinstance(n, ast.Constant) and not NAME.fullmatch(str(n.value)) for n in given):
            yield node.lineno


def usable(code):
    """Whether it is a code in kebab case, or what a caller or another error gives as one."""
    if isinstance(code, ast.IfExp):
        return usable(code.body) and usable(code.orelse)
    return not isinstance(code, ast.Constant) or bool(KEBAB.fullmatch(str(code.value)))


@pytest.fixture(scope="module")
def sentences():
    """All texts of the package of three words or more, one after the other."""
    found = (text for path in modules(*PACKAGES) for text in texts(parsed(path)))
    return "\0".join(text for text in found if text.count(" ") >= 2)


def test_no_test_repeats_a_sentence_of_the_package(sentences):
    found = Counter()
    for path in modules("tests"):
        found[str(path.relative_to(ROOT))] = len(repeated(parsed(path), sentences))
    assert {name: count for name, count in found.items() if count} == REPEATING


def test_every_refusal_has_a_code_in_kebab_case():
    found = {
        str(path.relative_to(ROOT)): len(list(codeless(parsed(path))))
        for path in modules(*PACKAGES)
    }
    assert {name: count for name, count in found.items() if count} == CODELESS


def test_every_refusal_blames_an_option_by_its_name():
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in modules(*PACKAGES)
        for line in nameless(parsed(path))
    ]
    assert found == []


def test_a_repeated_sentence_is_found_and_a_number_of_it_is_not():
    tree = ast.parse('"""it holds too many models"""\nsay(f"{n} models are too many here")')
    (one,) = texts(tree)
    assert one == " models are too many here"
    said = "3 models \\(more\\).*models are too many"
    assert repeated(ast.parse(f"match = {said!r}"), one)
    assert not repeated(ast.parse("match = '3 models.*too many'"), one)


@pytest.mark.parametrize(
    ("call", "lines"),
    [
        ("BadInput(said)", [1]),
        ("BadInput(said, 'Wrong')", [1]),
        ("BadInput(said, 'Wrong Type')", [1]),
        ("BadInput(said, 'wrong-type' if one else 'Wrong')", [1]),
        ("BadInput(said, 'wrong-type', option='data')", []),
        ("BadInput(said, code='wrong-type')", []),
        ("BadInput(said, error.code)", []),
    ],
)
def test_a_refusal_without_a_code_is_found(call, lines):
    assert list(codeless(ast.parse(call))) == lines


@pytest.mark.parametrize(
    ("call", "lines"),
    [
        ("checks.positive('the claim', 1)", [1]),
        ("BadInput(said, 'too-small', option='--out')", [1]),
        ("checks.of('claim', checks.positive('the claim', 1))", []),
        ("checks.positive('claim', 1)", []),
        ("BadInput(said, 'too-small', option=name)", []),
    ],
)
def test_an_option_that_is_blamed_in_words_is_found(call, lines):
    assert list(nameless(ast.parse(call))) == lines
