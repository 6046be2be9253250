#!/bin/sh
# Tests this source, starts it, and checks it against trawl's contract. Needs curl, and trawl on the path.
# In CI: run this file, and keep contract.xml as a JUnit report.
set -eu
cd "$(dirname "$0")"
export SOURCE_API_KEY="${SOURCE_API_KEY:-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')}" PORT="${PORT:-8090}" HOST=127.0.0.1

TEST

START &
source=$!
key=$(mktemp)
trap 'kill "$source"; rm -f "$key"' EXIT
printf %s "$SOURCE_API_KEY" >"$key"
curl -sS -o /dev/null --retry 60 --retry-delay 1 --retry-connrefused "http://127.0.0.1:$PORT/"
trawl connector check "http://127.0.0.1:$PORT/search" --keyword report --api-key-file "$key" --strict --junit contract.xml
