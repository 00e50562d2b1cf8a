#!/bin/bash
# Of the QUIC interop runner's container: routes, the simulator, then the endpoint that the environment asks for.

/setup.sh

if [ "$ROLE" == "client" ]; then
    /wait-for-it.sh sim:57832 -s -t 30
fi

# In the place of the shell, so that it gets the signals.
exec ackclock interop
