#!/bin/sh
# Tests this source, starts it, and checks it against trawl's contract. Needs trawl on the path.
# In CI: run this file, and keep contract.xml as a JUnit report.
set -eu
cd "$(dirname "$0")"
# Port 0 is any that is free.
export SOURCE_API_KEY="${SOURCE_API_KEY:-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')}" PORT="${PORT:-0}" HOST=127.0.0.1

TEST

key=$(mktemp)
said=$(mktemp)
START >"$said" &
source=$!
trap 'kill "$source" 2>/dev/null || :; rm -f "$key" "$said"' EXIT
printf %s "$SOURCE_API_KEY" >"$key"
tries=0
until address=$(grep -m 1 '^http.*/search$' "$said"); do
    tries=$((tries + 1))
    if [ $tries -gt 300 ] || ! kill -0 "$source" 2>/dev/null; then
        cat "$said" >&2
        echo "the source ended, or its first line is not its address" >&2
        exit 1
    fi
    sleep 0.2
done
trawl connector check "$address" --keyword report --api-key-file "$key" --strict --junit contract.xml
