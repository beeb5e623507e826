"""`python -m kron.kube.kronctl`."""

from __future__ import annotations

import sys

from kron.kube.kronctl.program import main

sys.exit(main())
