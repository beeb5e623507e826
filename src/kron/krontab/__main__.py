"""`python -m kron.krontab` is `krontab`."""

import sys

from kron.krontab.program import main

sys.exit(main())
