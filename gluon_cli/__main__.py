"""`python -m gluon_cli` is `gluon`."""

import sys

from gluon_cli.main import main

sys.exit(main())
