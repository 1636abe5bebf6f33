"""Fixtures that several files of this folder share."""

import pytest
from support.plugin import HEAD, run_pytest


@pytest.fixture
def run(tmp_path):
    """Writes files and runs pytest; gives the outcomes of the tests and the output."""

    def run(*arguments, plugin=True, head=HEAD, **files):
        for name, source in files.items():
            (tmp_path / f"{name}.py").write_text(head + source)
        if not plugin:
            return run_pytest(tmp_path, *arguments)
        # Other plugins that are installed take their time.
        alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return run_pytest(tmp_path, "-p", "pytest_denizen", *arguments, **alone)

    return run
