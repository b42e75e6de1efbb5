"""How the page looks: on a desk, on a phone, on paper, by day and by night."""

CSS = """
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1b1f24; --muted: #59626b; --line: #d6dade; --soft: #f4f6f8;
  --VIOLATION: #b3261e; --NO_VIOLATION_FOUND: #1c7a3e; --INCONCLUSIVE: #8a5a00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #16191d; --ink: #e8eaed; --muted: #a3abb3; --line: #3b424a; --soft: #20252b;
    --VIOLATION: #ff8a80; --NO_VIOLATION_FOUND: #6fd08c; --INCONCLUSIVE: #f2b84b;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.25rem 1rem 3rem; max-width: 46rem;
  background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
  overflow-wrap: anywhere;
}
h1 { font-size: 1.45rem; line-height: 1.25; margin: 0 0 .9rem; }
h1::first-letter, .sentence::first-letter { text-transform: uppercase; }
h2 {
  font-size: 1.2rem; margin: 2.2rem 0 .6rem; padding-top: .9rem;
  border-top: 1px solid var(--line);
}
h3 { font-size: 1rem; margin: 1.5rem 0 .4rem; }
p { margin: .5rem 0; }
.verdict {
  border: 2px solid var(--tone); border-left-width: .7rem; border-radius: .4rem;
  padding: .8rem 1rem; background: var(--soft);
}
.verdict strong { display: block; font-size: 1.5rem; line-height: 1.2; color: var(--tone); }
.VIOLATION { --tone: var(--VIOLATION); }
.NO_VIOLATION_FOUND { --tone: var(--NO_VIOLATION_FOUND); }
.INCONCLUSIVE, .NO_GUARANTEE_CLAIMED { --tone: var(--INCONCLUSIVE); }
.numbers { display: flex; flex-wrap: wrap; gap: .6rem; margin: .9rem 0; }
.numbers div {
  flex: 1 1 9rem; border: 1px solid var(--line); border-radius: .4rem; padding: .5rem .8rem;
}
.numbers dt { color: var(--muted); font-size: .85rem; line-height: 1.3; }
.numbers dd { margin: 0; font-size: 1.5rem; font-variant-numeric: tabular-nums; }
.facts { display: grid; grid-template-columns: 6.5rem 1fr; gap: .35rem 1rem; margin: .5rem 0; }
.facts dt { color: var(--muted); }
.facts dd { margin: 0; }
.facts p { margin: 0; }
figure { margin: 0 0 1.4rem; }
figcaption { color: var(--muted); font-size: .9rem; }
img { display: block; width: 100%; height: auto; border-radius: .3rem; }
table {
  border-collapse: collapse; width: 100%;
  font-variant-numeric: tabular-nums; font-size: .95rem;
}
table.of6 { font-size: .85rem; }
td { white-space: nowrap; }
caption { text-align: left; color: var(--muted); font-size: .9rem; padding-bottom: .3rem; }
th, td {
  padding: .4rem .5rem; text-align: right; vertical-align: top; overflow-wrap: normal;
  border-bottom: 1px solid var(--line);
}
th:first-child { text-align: left; overflow-wrap: anywhere; min-width: 7rem; }
thead th { vertical-align: bottom; font-size: .85rem; color: var(--muted); }
tbody th { font-weight: 400; }
.deciding { background: var(--soft); }
.deciding th, .deciding td { font-weight: 700; border-bottom: 2px solid var(--ink); }
.legend dt { font-weight: 600; margin-top: .5rem; }
.legend dd { margin: 0; }
ul { padding-left: 1.3rem; }
li { margin: .3rem 0; }
@media (max-width: 34rem) {
  .facts { grid-template-columns: 1fr; gap: 0; }
  .facts dt { margin-top: .5rem; }
  table { font-size: .9rem; }
  caption, thead, tbody { display: block; }
  tr { display: grid; border-bottom: 1px solid var(--line); padding: .3rem .3rem .4rem; }
  .of2 tr, .of6 tr { grid-template-columns: 1fr 1fr; }
  .of4 tr { grid-template-columns: 5fr 6fr 4fr 4fr; }
  th, td, .deciding th, .deciding td { padding: 0 .2rem; border: 0; }
  td { font-size: .82rem; }
  th:first-child { grid-column: 1 / -1; }
  .deciding { border-bottom: 2px solid var(--ink); }
}
@media print {
  :root {
    color-scheme: light;
    --paper: #ffffff; --ink: #000000; --muted: #444444; --line: #bbbbbb; --soft: #f4f6f8;
    --VIOLATION: #b3261e; --NO_VIOLATION_FOUND: #1c7a3e; --INCONCLUSIVE: #8a5a00;
  }
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  .verdict, .deciding { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  img { max-width: 11cm; }
  figure, table, li, .verdict, .numbers { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
}
"""
