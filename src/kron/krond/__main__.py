"""`python -m kron.krond`."""

from __future__ import annotations

import sys

from kron.krond.program import main

sys.exit(main())
