"""Continue's command line `cn`: npm `@continuedev/cli`."""

from keepwhole.clients.facts import ClientFacts

CONTINUE_CLI = ClientFacts(name="continue", title="Continue", command="cn", versions=("1.5.47",))
