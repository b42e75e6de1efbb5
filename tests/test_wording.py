"""Sentences are free to change: no test repeats one, and every refusal has a code to go by."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("dpaudit", "attacks", "canaries")

REPEATING = {
    "tests/attacks/test_rules.py": 1,
    "tests/attacks/test_statistics.py": 1,
    "tests/checkpoint/test_audit_of_outputs.py": 6,
    "tests/checkpoint/test_models.py": 7,
    "tests/checkpoint/test_outputs.py": 1,
    "tests/checkpoint/test_predictions.py": 6,
    "tests/cli/conftest.py": 1,
    "tests/cli/test_cli_adversary.py": 9,
    "tests/cli/test_cli_calibrate.py": 5,
    "tests/cli/test_cli_canaries.py": 4,
    "tests/cli/test_cli_checkpoint.py": 25,
    "tests/cli/test_cli_compare.py": 8,
    "tests/cli/test_cli_completion.py": 4,
    "tests/cli/test_cli_destination.py": 2,
    "tests/cli/test_cli_estimate.py": 16,
    "tests/cli/test_cli_laplace.py": 4,
    "tests/cli/test_cli_one_run.py": 9,
    "tests/cli/test_cli_own_function.py": 3,
    "tests/cli/test_cli_p3gm.py": 3,
    "tests/cli/test_cli_plan.py": 10,
    "tests/cli/test_cli_private_ensemble.py": 2,
    "tests/cli/test_cli_refusals.py": 11,
    "tests/cli/test_cli_run.py": 6,
    "tests/cli/test_cli_until_decided.py": 5,
    "tests/curves/test_families.py": 1,
    "tests/curves/test_steps.py": 1,
    "tests/data/test_csv_table.py": 11,
    "tests/data/test_data.py": 11,
    "tests/data/test_folder.py": 3,
    "tests/data/test_npz.py": 9,
    "tests/data/test_vision.py": 5,
    "tests/defences/test_chain.py": 5,
    "tests/defences/test_every_defence.py": 1,
    "tests/defences/test_named.py": 1,
    "tests/defences/test_sweep.py": 7,
    "tests/ensemble/test_organisations.py": 1,
    "tests/ensemble/test_rows.py": 2,
    "tests/estimators/test_auc_bet.py": 1,
    "tests/estimators/test_clopper_pearson.py": 1,
    "tests/estimators/test_counts_promises.py": 3,
    "tests/estimators/test_e_process.py": 3,
    "tests/estimators/test_every_estimator.py": 1,
    "tests/estimators/test_exact_scan.py": 1,
    "tests/estimators/test_guesses_promises.py": 2,
    "tests/estimators/test_paired_auc.py": 1,
    "tests/estimators/test_pld.py": 1,
    "tests/estimators/test_rank_test.py": 1,
    "tests/estimators/test_ranking.py": 2,
    "tests/kits/test_kits.py": 17,
    "tests/kits/test_looks.py": 4,
    "tests/laplace/test_learning.py": 4,
    "tests/local/test_frequency.py": 3,
    "tests/local/test_matrices.py": 5,
    "tests/mechanisms/test_dpsgd_mechanism.py": 5,
    "tests/mechanisms/test_function.py": 5,
    "tests/mechanisms/test_laplace_mechanisms.py": 3,
    "tests/mechanisms/test_many_canaries.py": 2,
    "tests/mechanisms/test_p3gm_mechanisms.py": 6,
    "tests/mechanisms/test_private_ensemble.py": 2,
    "tests/mechanisms/test_randomized_response.py": 4,
    "tests/mechanisms/test_views.py": 4,
    "tests/p3gm/test_generator.py": 4,
    "tests/report/test_comparison.py": 6,
    "tests/report/test_report_attacker.py": 6,
    "tests/report/test_report_by_step.py": 9,
    "tests/report/test_report_html.py": 8,
    "tests/report/test_report_null.py": 1,
    "tests/report/test_report_one_run.py": 4,
    "tests/report/test_report_sarif.py": 1,
    "tests/report/test_report_terminal.py": 12,
    "tests/selections/test_guess_numbers.py": 3,
    "tests/test_accounting.py": 2,
    "tests/test_calibrate.py": 4,
    "tests/test_compare.py": 8,
    "tests/test_played.py": 1,
    "tests/test_selection.py": 5,
    "tests/training/native/test_native_compiler.py": 1,
    "tests/training/native/test_native_sums.py": 16,
    "tests/training/test_bookkeeping.py": 4,
    "tests/training/test_choosing.py": 1,
    "tests/training/test_loading.py": 1,
    "tests/training/test_networks.py": 2,
    "tests/training/test_state.py": 5,
}
"""Test files that still repeat sentences, and how many: the numbers may only fall."""

CODELESS = {
    "dpaudit/accounting.py": 6,
    "dpaudit/checkpoint/audit.py": 2,
    "dpaudit/checkpoint/doubts.py": 2,
    "dpaudit/checkpoint/models.py": 4,
    "dpaudit/checkpoint/onnx.py": 6,
    "dpaudit/checkpoint/outputs.py": 2,
    "dpaudit/checkpoint/predictions.py": 14,
    "dpaudit/checkpoint/scoring.py": 4,
    "dpaudit/checkpoint/subject.py": 3,
    "dpaudit/cli/completion.py": 1,
    "dpaudit/cli/explain.py": 1,
    "dpaudit/compare.py": 5,
    "dpaudit/curves/gaussian.py": 1,
    "dpaudit/curves/named.py": 2,
    "dpaudit/curves/pure.py": 1,
    "dpaudit/data/csv_table.py": 1,
    "dpaudit/data/csv_text.py": 3,
    "dpaudit/data/folder.py": 4,
    "dpaudit/data/npz.py": 4,
    "dpaudit/data/picture.py": 5,
    "dpaudit/data/source.py": 2,
    "dpaudit/data/vision.py": 5,
    "dpaudit/defences/chain.py": 1,
    "dpaudit/defences/outputs.py": 1,
    "dpaudit/defences/sweep.py": 3,
    "dpaudit/defences/text.py": 7,
    "dpaudit/ensemble/neighbouring.py": 1,
    "dpaudit/ensemble/organisations.py": 1,
    "dpaudit/ensemble/rows.py": 5,
    "dpaudit/ensemble/scaling.py": 2,
    "dpaudit/estimators/e_process.py": 2,
    "dpaudit/estimators/inputs.py": 2,
    "dpaudit/estimators/one_run.py": 1,
    "dpaudit/estimators/ranking.py": 4,
    "dpaudit/kits/kinds.py": 4,
    "dpaudit/kits/kit.py": 7,
    "dpaudit/kits/looks.py": 2,
    "dpaudit/kits/making.py": 2,
    "dpaudit/kits/sealed.py": 1,
    "dpaudit/laplace/limits.py": 2,
    "dpaudit/laplace/microaggregation.py": 1,
    "dpaudit/local/frequency.py": 4,
    "dpaudit/local/matrices.py": 4,
    "dpaudit/local/named.py": 6,
    "dpaudit/local/population.py": 4,
    "dpaudit/mechanisms/dpsgd.py": 4,
    "dpaudit/mechanisms/function.py": 4,
    "dpaudit/mechanisms/given.py": 4,
    "dpaudit/mechanisms/laplace_anonymized_learning.py": 3,
    "dpaudit/mechanisms/laplace_learning_first.py": 1,
    "dpaudit/mechanisms/p3gm.py": 1,
    "dpaudit/mechanisms/p3gm_pca.py": 1,
    "dpaudit/mechanisms/private_ensemble.py": 1,
    "dpaudit/mechanisms/randomized_response.py": 3,
    "dpaudit/mechanisms/reference.py": 8,
    "dpaudit/mechanisms/views.py": 3,
    "dpaudit/opened.py": 6,
    "dpaudit/p3gm/accounting.py": 2,
    "dpaudit/p3gm/generator.py": 1,
    "dpaudit/report/consistent.py": 12,
    "dpaudit/report/figure_defences.py": 1,
    "dpaudit/report/machine.py": 1,
    "dpaudit/scores.py": 8,
    "dpaudit/selections/bonferroni.py": 1,
    "dpaudit/selections/dkw.py": 4,
    "dpaudit/selections/fixed.py": 2,
    "dpaudit/selections/guess_numbers.py": 1,
    "dpaudit/selections/hold_out.py": 1,
    "dpaudit/selections/promised.py": 3,
    "dpaudit/training/backends.py": 3,
    "dpaudit/training/dpsgd.py": 6,
    "dpaudit/training/loading.py": 4,
    "dpaudit/training/native/__init__.py": 3,
    "dpaudit/training/networks.py": 3,
    "dpaudit/training/pretraining.py": 1,
    "dpaudit/training/state.py": 10,
    "attacks/expressions.py": 2,
    "attacks/learned.py": 1,
    "attacks/rules.py": 1,
    "attacks/search.py": 3,
    "attacks/statistics.py": 4,
    "canaries/corner.py": 1,
    "canaries/opposites.py": 1,
    "canaries/replaced.py": 1,
    "canaries/shadows.py": 1,
}
"""Modules that still refuse without a code, and how often: the numbers may only fall."""

GUARD = 'if __name__ == "__main__":'
"""A line of every script that starts processes, which one sentence of the package cites."""

GAP = re.compile(r"\.\*|\\d\+|\n|\{[^}]*\}")
"""What parts the literal pieces of a pattern or a template."""

KEBAB = re.compile(r"[a-z]+(-[a-z0-9]+)+")


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
        ("BadInput(said, 'wrong')", [1]),
        ("BadInput(said, 'wrong-type' if one else 'wrong')", [1]),
        ("BadInput(said, 'wrong-type', option='data')", []),
        ("BadInput(said, code='wrong-type')", []),
        ("BadInput(said, error.code)", []),
    ],
)
def test_a_refusal_without_a_code_is_found(call, lines):
    assert list(codeless(ast.parse(call))) == lines
