"""Runs the built test programs, reports how long their tests took, and writes target/tests.xml (JUnit).

./tests/run calls it with the programs that cargo built, one JSON message a line, on standard input.
"""

import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as xml

# Tests whose promise a smaller one holds, or that take too long to be run for each change.
ONLY_ALL = (
    "browser::accessibility::views_break_no_rule_in_chinese_and_dark", "chinese_news_is_ranked_equally_well", "conformance::generators::",
    "engine::leaders::leader_that_wakes_up_late", "english_abstracts_are_ranked_equally_well", "mapped::systems::",
    "replicas::balancer::nothing_is_lost_when_replicas_die_behind_haproxy", "sampled_questions_are_answered_alike",
    "scale::faulty_sources_under_load", "scale::relevance::chinese_news_reaches", "scale::relevance::english_abstracts_reach",
    "security::memory::query_that_never_ends",
)

# Beginnings of the names of tests that are run once more over PostgreSQL, which also plans each statement that the others send to SQLite.
POSTGRES = ("conformance::lifecycle", "crash::random_kills::", "oauth::token::hash_of_a_secret", "property::", "store::check", "store::copy", "tasks::concurrent_")

# Tests that see nothing of the database, or that start programs over SQLite.
NO_STORE = (
    "browser::", "conformance::generators::", "conformance::openapi::", "documents::", "engine::", "layers::", "mapped::systems::", "pages::",
    "scale::relevance::", "search::certificates::expired_certificate",
)

# Tests about SQLite's own disk, and about contents in a directory beside it.
SQLITE_ALONE = (
    "crash::disk_full::full_database_disk", "crash::random_kills_of_files", "files::curl", "files::retention::verify", "files::s3::verify",
    "files::unsafe_contents::failed_rescan", "files::unsafe_contents::rescan", "subscriptions::faulty_feeds",
)

# Beginnings of the names of tests that are run once more over OpenSearch; its own tests are in its crate.
OPENSEARCH = ("conformance::lifecycle",)
OPENSEARCH_ALL = (
    *OPENSEARCH, "departments::search", "favorites::search", "files::search", "groups::search", "people::search", "search::after",
    "search::correction", "search::highlight", "search::paging", "search::query", "search::relaxation", "search::suggestions",
    "security::attacks", "security::isolation", "security::non_interference",
)

# Soaks of the release build, whose tests are ignored otherwise; `tests/soak/run` gives them more time.
ALONE = ("soak::one_server::", "soak::three_replicas::")

FUZZERS = "tests/fuzz/run"
# Seconds of each fuzzer.
FUZZED = 60

# The cases of property tests in a run without `--all`: a change is refused for what it does, not for what was drawn.
SEED = "1"

SLOWEST = 30

# The tests of procedural macros load the compiler's libraries.
LIBRARIES = subprocess.run(["rustc", "--print", "target-libdir"], capture_output=True, text=True, check=True).stdout.strip()


class Suite:
    """Tests of a program, by the first and the excepted beginnings of their names; those that load the machine are run alone."""

    def __init__(self, name, program, directory, environment=None, only=("",), but=(), alone=False):
        self.name, self.program, self.directory, self.alone = name, program, directory, alone
        self.environment, self.only, self.but = environment or {}, tuple(only), tuple(but)

    def command(self, *arguments):
        environment = os.environ | self.environment | {"CARGO_MANIFEST_DIR": self.directory, "LD_LIBRARY_PATH": LIBRARIES}
        # RUSTC_BOOTSTRAP lets a stable test program report as JSON.
        environment["RUSTC_BOOTSTRAP"] = "1"
        return subprocess.Popen(
            [self.program, *arguments], cwd=self.directory, env=environment, stdout=subprocess.PIPE, text=True
        )

    def tests(self):
        with self.command("--list") as process:
            listed = process.stdout.read()
        names = (line.removesuffix(": test") for line in listed.splitlines() if line.endswith(": test"))
        return [name for name in names if name.startswith(self.only) and not name.startswith(self.but)]


class Outcome:
    def __init__(self, suite, event):
        self.suite, self.name = suite, event["name"]
        self.seconds, self.failed = event.get("exec_time", 0.0), event["event"] == "failed"
        self.ignored = event["event"] == "ignored"
        self.output = event.get("stdout", "") + event.get("message", "")


def release_build():
    """Builds the server as people run it, whose times soaks judge; returns its path."""
    subprocess.run(["cargo", "build", "--release", "--locked", "--bin", "trawl"], check=True)
    return os.path.abspath(os.path.join(os.environ.get("CARGO_TARGET_DIR", "target"), "release/trawl"))


def run(suite, options):
    """Yields the outcome of each test of a suite; a program that ends early is an outcome, too."""
    names = [name for name in suite.tests() if name.startswith(tuple(options.names or [""]))]
    if not names:
        return
    if suite.alone:
        suite.environment["TRAWL_TEST_PROGRAM"] = release_build()
    threads = 1 if suite.alone else options.threads
    ignored = ["--include-ignored", "--show-output"] if suite.alone or options.ignored else []
    arguments = ["--exact", f"--test-threads={threads}", "-Zunstable-options", "--format=json", "--report-time", *ignored, *names]
    started, ended = time.monotonic(), False
    with suite.command(*arguments) as process:
        for line in process.stdout:
            try:
                event = json.loads(line)
            except ValueError:
                print(line, end="")
                continue
            if event["type"] == "test" and event["event"] in ("ok", "failed", "ignored"):
                yield Outcome(suite, event)
            ended = ended or event["type"] == "suite" and event["event"] in ("ok", "failed")
    drop_databases()
    if not ended:
        yield Outcome(suite, {"name": "(program)", "event": "failed", "message": f"ended early, with status {process.returncode}"})
    print(f"{suite.name}: {len(names)} tests, {time.monotonic() - started:.0f} s", flush=True)


def drop_databases():
    """Drops what tests left in PostgreSQL, whose files are in memory: a database of each, of 11 MB."""
    if server := os.environ.get("TRAWL_TEST_POSTGRES"):
        drop = r"SELECT format('DROP DATABASE %I WITH (FORCE)', datname) FROM pg_database WHERE datname LIKE 'trawl\_%' \gexec"
        subprocess.run(["psql", "--quiet", "--no-psqlrc", f"{server}/postgres"], input=drop, text=True, check=True)


def fuzz(options):
    """Yields the outcome of each fuzzer; the end of its output tells the fault."""
    suite = Suite("fuzz", FUZZERS, os.getcwd())
    listed = subprocess.run([FUZZERS, "--list"], capture_output=True, text=True, check=True).stdout.split()

    def outcome(name):
        started = time.monotonic()
        ran = subprocess.run([FUZZERS, name.removeprefix("fuzzers::"), str(FUZZED)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        event = "failed" if ran.returncode else "ok"
        return Outcome(suite, {"name": name, "event": event, "exec_time": time.monotonic() - started, "stdout": ran.stdout[-8_000:]})

    names = [name for name in map("fuzzers::{}".format, listed) if name.startswith(tuple(options.names or [""]))]
    with concurrent.futures.ThreadPoolExecutor(options.threads) as pool:
        yield from pool.map(outcome, names)


def folder(outcome):
    """Its suite, and the folder of its test."""
    return f"{outcome.suite.name}: {'::'.join(outcome.name.split('::')[:-2]) or outcome.name.split('::')[0]}"


def report(outcomes):
    print(f"\nThe {SLOWEST} slowest tests")
    for outcome in sorted(outcomes, key=lambda outcome: -outcome.seconds)[:SLOWEST]:
        print(f"{outcome.seconds:8.1f} s  {outcome.suite.name}: {outcome.name}")
    sums = collections.defaultdict(lambda: [0, 0.0])
    for outcome in outcomes:
        sums[folder(outcome)][0] += 1
        sums[folder(outcome)][1] += outcome.seconds
    print("\nSeconds of each folder")
    for name, (count, seconds) in sorted(sums.items(), key=lambda item: -item[1][1]):
        print(f"{seconds:8.1f} s  {count:5} tests  {name}")


def write_junit(outcomes, path):
    root = xml.Element("testsuites")
    suites = {}
    for outcome in outcomes:
        if outcome.suite.name not in suites:
            suites[outcome.suite.name] = xml.SubElement(root, "testsuite", name=outcome.suite.name)
        suite = suites[outcome.suite.name]
        group, _, name = outcome.name.rpartition("::")
        case = xml.SubElement(suite, "testcase", classname=group, name=name, time=f"{outcome.seconds:.3f}")
        if outcome.failed:
            xml.SubElement(case, "failure").text = "".join(one for one in outcome.output if one.isprintable() or one in "\n\t")
        if outcome.ignored:
            xml.SubElement(case, "skipped")
    xml.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def programs():
    """Package, target, program and directory of each that cargo built."""
    for line in sys.stdin:
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
            directory = os.path.dirname(message["manifest_path"])
            package = os.path.relpath(directory).replace(".", "trawl", 1)
            yield package, message["target"]["name"], message["executable"], directory


def suites(options):
    has_opensearch = "TRAWL_TEST_OPENSEARCH" in os.environ
    but = () if options.all else ONLY_ALL
    for package, target, program, directory in programs():
        is_unit = target.replace("_", "-").endswith(package)
        name = package if is_unit else f"{package}/{target}"
        if package == "opensearch" and not is_unit and not has_opensearch:
            continue
        yield Suite(name, program, directory, but=but)
        if name != "trawl/integration":
            continue
        over_postgres, over_opensearch = {"TRAWL_TEST_STORE": "postgres"}, {"TRAWL_TEST_ENGINE": "opensearch"}
        only = ("",) if options.all else POSTGRES
        yield Suite(f"{name} over PostgreSQL", program, directory, over_postgres, only, SQLITE_ALONE + NO_STORE + but)
        if has_opensearch:
            only = OPENSEARCH_ALL if options.all else OPENSEARCH
            yield Suite(f"{name} over OpenSearch", program, directory, over_opensearch, only, but)
        if options.all:
            yield Suite(f"{name} alone", program, directory, only=ALONE, alone=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="whole suites on both stores and engines, and the sizes that take long")
    parser.add_argument("--ignored", action="store_true", help="tests that another script runs, too")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("names", nargs="*", help="beginnings of tests' names")
    options = parser.parse_args()
    if options.all:
        os.environ["TRAWL_TEST_ALL"] = "1"
        print("beside whole sizes: all over PostgreSQL; a minute of each fuzzer;", ", ".join((*ONLY_ALL, *(f"{name} over OpenSearch" for name in OPENSEARCH_ALL))))
    else:
        os.environ.setdefault("PROPTEST_RNG_SEED", SEED)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    outcomes = []
    try:
        runs = [run(suite, options) for suite in suites(options)] + [fuzz(options)] * options.all
        for outcome in itertools.chain.from_iterable(runs):
            outcomes.append(outcome)
            # Soaks print what they measure.
            if outcome.output and not outcome.ignored:
                print(f"\n{outcome.suite.name}: {outcome.name}{' failed' * outcome.failed}\n{outcome.output}", flush=True)
    finally:
        os.makedirs("target", exist_ok=True)
        report(outcomes)
        write_junit(outcomes, "target/tests.xml")
    if not outcomes:
        sys.exit(f"no test's name begins with {' or '.join(options.names)}")
    failed = [outcome for outcome in outcomes if outcome.failed]
    for outcome in failed:
        print(f"failed: {outcome.suite.name}: {outcome.name}")
    print(f"{sum(not (outcome.failed or outcome.ignored) for outcome in outcomes)} passed, {len(failed)} failed")
    sys.exit(bool(failed))


main()
