"""Documents lead to what there is."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("reproductions/**/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_within_the_repository_leads_to_a_file(page):
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_page_is_found_from_the_readme():
    readme = (ROOT / "README.md").read_text()
    assert [page.name for page in ROOT.glob("docs/*.md") if f"docs/{page.name}" not in readme] == []
