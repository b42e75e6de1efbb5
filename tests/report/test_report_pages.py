"""A notebook shows the page of each result, in a frame of its own."""

from html import unescape

from report_examples import no_violation_found

from dpaudit.judging.plan import Plan, plan
from dpaudit.judging.plan_request import PlanRequest
from dpaudit.report import page
from dpaudit.report.pages import RENDERERS
from dpaudit.results import Report, Result


def kinds(of: type) -> set[type]:
    return {of, *(kind for below in of.__subclasses__() for kind in kinds(below))}


def test_every_kind_of_result_has_a_renderer() -> None:
    assert {Report, Plan} <= set(RENDERERS) == kinds(Result) - {Result}


def test_a_notebook_shows_the_page_in_a_frame() -> None:
    report = no_violation_found()
    start, shown, _ = report._repr_html_().split('"', 2)
    assert start == "<iframe srcdoc="
    assert unescape(shown) == page(report)
    assert "typical bound" in plan(PlanRequest(claim=1.0))._repr_html_()
