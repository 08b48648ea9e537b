#!/bin/sh
# Does what Flink's command of this name does: starts a session on YARN, attaches to a session (-id), or prints YARN's
# resources (-q). It runs `bobbin session start` and takes the same flags.
#
#   scripts/yarn-session.sh -d -nm nightly -jm 1g -tm 4g -s 4
set -eu
exec "$(dirname "$(readlink -f "$0")")/../bin/bobbin" session start "$@"
