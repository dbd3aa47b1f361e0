"""Run the engine's tests on the lowest and the newest `anthropic` that is allowed.

The main test run uses the version in constraints.txt. Each end of the range in
pyproject.toml that differs from it is tested here, in a virtual environment of its own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

SDK = "anthropic"
TESTS = ["tests/core", "tests/loop", "tests/replay"]
CONSTRAINTS = Path("constraints.txt")


def allowed() -> Requirement:
    """Read the range of SDK versions that the project allows."""
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    requirements = map(Requirement, project["dependencies"])
    return next(each for each in requirements if each.name == SDK)


def lowest(requirement: Requirement) -> Version:
    """Give the lower bound of the range."""
    bounds = requirement.specifier
    return next(Version(each.version) for each in bounds if each.operator == ">=")


def pinned() -> Version:
    """Give the version that the main test run uses."""
    lines = CONSTRAINTS.read_text().splitlines()
    pin = next(each for each in lines if each.startswith(f"{SDK}=="))
    return Version(pin.removeprefix(f"{SDK}=="))


def newest(requirement: Requirement) -> Version | None:
    """Ask pip which version it would install today; None when it cannot say."""
    asked = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run"]
    asked += ["--retries=1", "--no-deps", "--ignore-installed", "--report=-"]
    asked += [str(requirement)]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False)
    if answer.returncode:
        return None
    return Version(json.loads(answer.stdout)["install"][0]["metadata"]["version"])


def test(name: str, version: Version, reports: Path) -> int:
    """Run the engine's tests on one version, in the environment `.venv-NAME`."""
    venv = Path(f".venv-{name}")
    others = [
        each
        for each in CONSTRAINTS.read_text().splitlines()
        if not each.startswith(f"{SDK}==")
    ]
    subprocess.run(["scripts/make_venv", venv], check=True)
    constraints = venv / CONSTRAINTS
    constraints.write_text("\n".join([*others, f"{SDK}=={version}", ""]))
    install = ["pip", "install", "--quiet", "--constraint", constraints, "-e", ".[dev]"]
    pytest = ["pytest", f"--junitxml={reports}/{name}-{SDK}.xml", *TESTS]
    for command in (install, pytest):
        status = subprocess.run([venv / "bin/python", "-m", *command], check=False)
        if status.returncode:
            return status.returncode
    return 0


def main(reports: Path) -> int:
    """Test each end of the range, or say why it is not tested here."""
    requirement, pin, status = allowed(), pinned(), 0
    ends = {"lowest": lowest(requirement), "newest": newest(requirement)}
    for name, version in ends.items():
        if version is None:
            print(f"{SDK}: the {name} version is NOT tested, pip could not look it up.")
        elif version == pin:
            print(f"{SDK}: the {name} version is {pin}, which the run above tested.")
        else:
            words = f"{SDK}: the {name} version is {version}, not {pin}: testing it."
            print(words, flush=True)
            status = test(name, version, reports) or status
    return status


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reports", type=Path, required=True)
    sys.exit(main(parser.parse_args().reports))
