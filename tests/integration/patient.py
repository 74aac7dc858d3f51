"""The command line, but patient: `python -m tests.integration.patient run …`.

A busy machine may delay a record, and a trial is invalid then; what these tests show does not
depend on it. Nobody can ask for that on the command line, where limits can only be stricter.
"""

import sys

from streamgauge.spec.trial import LoadSpec

LoadSpec.model_fields["max_lateness_s"].default = 30.0
LoadSpec.model_rebuild(force=True)

from streamgauge.cli import main  # noqa: E402 - specs that hold a load are built with the new one

if __name__ == "__main__":
    sys.exit(main())
