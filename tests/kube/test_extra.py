"""Without the extra `kube`, the commands say what to install."""

from __future__ import annotations

import pytest

from kron.core.errors import KronError
from kron.kube import extra


def test_what_is_missing_is_named_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    extra.check_extra()
    monkeypatch.setattr(extra, "NEEDED", ("yaml", "no_such_module_here"))
    with pytest.raises(KronError) as caught:
        extra.check_extra()
    assert "no_such_module_here is not installed" in str(caught.value)
    assert "pip install 'krond[kube]'" in str(caught.value)
    monkeypatch.setattr(extra, "NEEDED", ("no_such_module_here", "nor_this_one"))
    with pytest.raises(KronError, match="no_such_module_here and nor_this_one are not installed"):
        extra.check_extra()
