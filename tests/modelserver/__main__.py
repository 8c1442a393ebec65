"""``python -m tests.modelserver --port 0``: prints its address on a line of its own, then serves until
SIGTERM.
"""

import argparse
import json
import signal
from pathlib import Path

from tests.modelserver.personas import PERSONAS
from tests.modelserver.server import ModelServer
from tests.modelserver.steps import Step


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.modelserver", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--api-key", help="the only key to accept; any key without this")
    parser.add_argument("--persona", choices=sorted(PERSONAS), default="echo")
    parser.add_argument("--script", type=Path, metavar="FILE", help="a JSON array of steps to answer first")
    options = parser.parse_args()
    signals = {signal.SIGTERM, signal.SIGINT}
    # Blocked before the server's thread starts, so that only sigwait sees them.
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    with ModelServer(api_key=options.api_key, persona=options.persona, port=options.port) as server:
        if options.script:
            server.script(*(Step.from_json(step) for step in json.loads(options.script.read_text())))
        print(server.url, flush=True)  # noqa: T201 — the address is this program's output
        signal.sigwait(signals)


if __name__ == "__main__":
    main()
