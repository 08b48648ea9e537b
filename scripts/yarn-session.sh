#!/bin/sh
# Flink's command of this name: starts a session on YARN, attaches to one (-id), or tells
# what YARN has for one (-q). Its flags are those of `bobbin session start`, which it runs.
#
#   scripts/yarn-session.sh -d -nm nightly -jm 1g -tm 4g -s 4
set -eu
exec "$(dirname "$(readlink -f "$0")")/../bin/bobbin" session start "$@"
