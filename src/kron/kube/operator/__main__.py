"""`python -m kron.kube.operator`."""

import sys

from kron.kube.operator.program import main

sys.exit(main())
