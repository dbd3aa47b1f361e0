"""Close `make test` with one line that adds up all of its test runs."""

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET


def count(report: Path) -> Counter[str]:
    """Count the outcomes in a JUnit report that pytest wrote."""
    total: Counter[str] = Counter()
    for suite in ET.parse(report).iter("testsuite"):  # noqa: S314 - our own file
        failed = int(suite.attrib["failures"]) + int(suite.attrib["errors"])
        skipped = int(suite.attrib["skipped"])
        passed = int(suite.attrib["tests"]) - failed - skipped
        total += Counter(passed=passed, failed=failed, skipped=skipped)
    return total


def line(total: Counter[str]) -> str:
    """Say a count the way pytest does."""
    words = ("passed", "failed", "skipped")
    return ", ".join(f"{total[word]} {word}" for word in words)


def main(folder: Path) -> int:
    """Print every run and their sum; fail if a test failed or none ran."""
    totals = {report.stem: count(report) for report in sorted(folder.glob("*.xml"))}
    total = sum(totals.values(), Counter[str]())
    for name, run in totals.items():
        print(f"{name}: {line(run)}")
    print(line(total))
    return 1 if total["failed"] or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
