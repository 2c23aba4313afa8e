#!/usr/bin/env python3
"""The dashboard and the alert rules of scripts/monitoring against a service that runs.

    tests/service/monitoring_test.py --hone build/release/bin/hone

A coordinator, a worker and a page server do a job; every metric and label that a panel or a rule names must be in what
they expose, and what they expose must be as Prometheus wants it. Where promtool is installed it checks both, too; where
prometheus is, it scrapes them and is asked every query. Exit status 77: redis-server is not installed.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).parents[2]
MONITORING = ROOT / "scripts" / "monitoring"
SCRAPED = {"instance", "job", "le"}     # labels that it adds, and that of a histogram's buckets
SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (NaN|[+-]Inf|[-+0-9.e]+)$')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(?:,|$)')


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def fetch(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


class Page:
    """One /metrics page, and what is wrong with it."""

    def __init__(self, text):
        self.types, self.labels, self.errors = {}, {}, []
        helps = {}
        for line in text.splitlines():
            if line.startswith("# HELP "):
                _, _, name, help_text = line.split(" ", 3)
                helps[name] = help_text
            elif line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                self.types[name] = kind
                if not helps.get(name):
                    self.errors.append(f"{name}: no help before its type")
            else:
                self.read_sample(line)
        for name, kind in self.types.items():
            self.check_name(name, kind)

    def read_sample(self, line):
        match = SAMPLE.fullmatch(line)
        if not match:
            self.errors.append(f"no sample: {line}")
            return
        name, inside = match[1], match[2] or ""
        labels = dict(LABEL.findall(inside))
        if LABEL.sub("", inside):
            self.errors.append(f"labels: {line}")
        family = name
        if name not in self.types:
            family = re.sub(r"_(bucket|sum|count)$", "", name)
            if self.types.get(family) != "histogram":
                self.errors.append(f"{name}: no type before it")
        if "le" in labels and not name.endswith("_bucket"):
            self.errors.append(f"{name}: `le` is for buckets")
        self.labels.setdefault(name, set()).update(labels)

    def check_name(self, name, kind):
        """What `promtool check metrics` wants of a name."""
        if (kind == "counter") != name.endswith("_total"):
            self.errors.append(f"{name}: a {kind}; counters end in _total, others do not")
        if kind not in ("counter", "gauge", "histogram"):
            self.errors.append(f"{name}: type {kind}")
        if re.search(r"[A-Z:]", name):
            self.errors.append(f"{name}: not in snake_case")
        for part in ("counter", "gauge", "histogram", "summary"):
            if part in name.split("_"):
                self.errors.append(f"{name}: the type is no part of a name")
        if re.search(r"_(ms|milliseconds|us|minutes|hours|days|kb|mb|kilobytes|megabytes|percent|celsius)(_|$)", name):
            self.errors.append(f"{name}: not in a base unit")
        if re.search(r"_(bucket|sum|count)$", name):
            self.errors.append(f"{name}: ends as a part of a histogram")


def selectors(query):
    """(metric, label) for all that a query selects; label None for the metric itself."""
    query = query.replace("$__rate_interval", "30s")
    bare = re.sub(r'"[^"]*"', '""', query)
    for match in re.finditer(r"\b([a-z_][a-z0-9_]*)\b(?:\{([^}]*)\})?", re.sub(r"\b(by|on) \([^)]*\)", "", bare)):
        name, inside = match[1], match[2]
        if not name.startswith(("hone_", "process_")):
            continue
        yield name, None
        for label in re.findall(r"([a-z_]+)\s*(?:=~|!=|!~|=)", inside or ""):
            yield name, label


def queries():
    """(where, query) of every panel and every rule."""
    dashboard = json.loads((MONITORING / "dashboard.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield "panel " + panel["title"], target["expr"]
    for match in re.finditer(r"- alert: (\w+)\n\s+expr: (.+)\n", (MONITORING / "alerts.yml").read_text()):
        yield "alert " + match[1], match[2]


class Service:
    """Redis, a coordinator, a worker and a page server; one job that is done and one that waits."""

    def __init__(self, hone, folder, stack):
        self.hone, self.folder, self.stack = hone, pathlib.Path(folder), stack
        self.redis = f"redis://127.0.0.1:{free_port()}"
        self.environment = {**os.environ, "HONE_REDIS": self.redis, "XDG_CACHE_HOME": str(self.folder / "cache")}
        self.ports = {"coordinator": free_port(), "worker": free_port(), "serve": free_port()}
        self.start("redis-server", "--port", self.redis.rsplit(":", 1)[1], "--save", "", "--dir", folder)
        self.wait_for(lambda: socket.create_connection(("127.0.0.1", int(self.redis.rsplit(":", 1)[1]))).close())
        database = str(self.folder / "hone.db")
        self.start(hone, "coordinator", "--db", database, "--metrics", self.address("coordinator"))
        self.start(hone, "worker", "--device", "emu:sm_90", "--metrics", self.address("worker"))
        self.wait_for(lambda: self.page("worker"))
        self.wait_for(lambda: pathlib.Path(database).stat())
        self.wait_for(lambda: self.page("coordinator").index("\nhone_leading 1\n"))
        self.start(hone, "serve", "--db", database, "--listen", self.address("serve"))
        self.wait_for(lambda: self.page("serve"))

    def address(self, name):
        return f"127.0.0.1:{self.ports[name]}"

    def page(self, name):
        return fetch(f"http://{self.address(name)}/metrics")

    def start(self, *command):
        with open(self.folder / "log", "ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=self.environment)
        self.stack.callback(lambda: (process.terminate(), process.wait(30)))

    def wait_for(self, what, seconds=30):
        until = time.monotonic() + seconds
        while True:
            try:
                return what()
            except (OSError, ValueError, LookupError) as error:
                if time.monotonic() > until:
                    raise RuntimeError(f"{error}\n{(self.folder / 'log').read_text()}") from error
            time.sleep(0.05)

    def submit(self, *rest):
        task = str(ROOT / "baselines" / "vector_add" / "vector_add.cu")
        subprocess.run([self.hone, "submit", task, "--budget", "12", "--arch", *rest], env=self.environment, check=True,
                       capture_output=True)

    def do_a_job(self):
        self.submit("emu:sm_90", "--wait")

    def let_a_job_wait(self):
        self.submit("emu:sm_80")
        self.wait_for(lambda: self.page("coordinator").index('hone_searches_waiting{arch="emu:sm_80"} 1\n'))


class Monitoring(unittest.TestCase):
    hone = ""

    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        try:
            cls.folder = cls.stack.enter_context(tempfile.TemporaryDirectory())
            cls.service = Service(cls.hone, cls.folder, cls.stack)
            cls.prometheus = cls.start_prometheus() if shutil.which("prometheus") else None
            cls.service.do_a_job()
            cls.when_idle = cls.panels_without_data() if cls.prometheus else []
            cls.service.let_a_job_wait()
            cls.texts = {name: cls.service.page(name) for name in cls.service.ports}
        except BaseException:
            cls.stack.close()
            raise

    @classmethod
    def tearDownClass(cls):
        cls.stack.close()

    @classmethod
    def start_prometheus(cls):
        port = free_port()
        jobs = [{"job_name": f"hone-{name}", "static_configs": [{"targets": [cls.service.address(name)]}]}
                for name in cls.service.ports]
        config = pathlib.Path(cls.folder) / "prometheus.yml"
        config.write_text(json.dumps({"global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                                      "rule_files": [str(MONITORING / "alerts.yml")], "scrape_configs": jobs}))
        cls.service.start("prometheus", f"--config.file={config}", f"--storage.tsdb.path={cls.folder}/tsdb",
                          f"--web.listen-address=127.0.0.1:{port}")
        url = f"http://127.0.0.1:{port}"
        cls.service.wait_for(lambda: fetch(url + "/-/ready"))
        return url

    @classmethod
    def ask(cls, query):
        text = urllib.parse.urlencode({"query": query.replace("$__rate_interval", "30s")})
        return json.loads(fetch(f"{cls.prometheus}/api/v1/query?{text}"))["data"]["result"]

    @classmethod
    def panels_without_data(cls):
        """Also asks each query of a rule, which must be one that Prometheus understands."""
        time.sleep(3)  # rates need two scrapes
        return [f"{where}: {query}" for where, query in queries()
                if not cls.ask(query) and where.startswith("panel ")]

    def test_pages_are_as_prometheus_wants_them(self):
        for name, text in self.texts.items():
            self.assertEqual(Page(text).errors, [], name)
            self.assertGreater(len(Page(text).types), 8, name)

    def test_the_reader_of_pages_refuses_what_is_wrong(self):
        good = "# HELP a_total x\n# TYPE a_total counter\n"
        self.assertEqual(Page(good + 'a_total{b="c\\"}"} 1\n').errors, [])
        for bad in ("# TYPE a gauge\na 1\n", "# HELP a x\n# TYPE a counter\na 1\n", good + "b 1\n", good + "a_total x\n",
                    "# HELP a_total x\n# TYPE a_total gauge\n", "# HELP a_ms x\n# TYPE a_ms gauge\n",
                    "# HELP aB x\n# TYPE aB gauge\n", good + 'a_total{b="c"d} 1\n', good + 'a_total{le="1"} 1\n'):
            self.assertNotEqual(Page(bad).errors, [], bad)

    def test_all_that_queries_name_is_exposed(self):
        exposed = {}
        for text in self.texts.values():
            page = Page(text)
            for name in page.types:
                exposed.setdefault(name, set())
            for name, labels in page.labels.items():
                exposed.setdefault(name, set()).update(labels)
        asked = set()
        for where, query in queries():
            found = list(selectors(query))
            self.assertTrue(found or "up{" in query, f"{where}: {query}")
            for name, label in found:
                self.assertIn(name, exposed, where)
                if label is not None and label not in SCRAPED:
                    self.assertIn(label, exposed[name], f"{where}: {name}")
                asked.add(re.sub(r"_(bucket|sum|count)$", "", name))
            for group in re.findall(r"\bby \(([^)]*)\)", query):
                for label in re.split(r",\s*", group):
                    if label not in SCRAPED:
                        self.assertTrue(any(label in exposed[name] for name, _ in found), f"{where}: by {label}")
        self.assertGreater(len(asked), 25)

    def test_promtool_agrees(self):
        if shutil.which("promtool") is None:
            self.skipTest("promtool is not installed")
        for name, text in self.texts.items():
            done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""), name)
        done = subprocess.run(["promtool", "check", "rules", str(MONITORING / "alerts.yml")], text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_prometheus_answers_every_query(self):
        if self.prometheus is None:
            self.skipTest("prometheus is not installed")

        # Of a service that has done its job and waits for another one, too.
        self.assertEqual(self.when_idle, [])
        self.service.wait_for(lambda: self.ask("count(hone_searches_waiting)")[0])
        self.assertEqual(self.panels_without_data(), [])
        waiting = next(query for where, query in queries() if where == "panel Searches that wait for a worker")
        self.assertEqual([one["metric"] for one in self.ask(waiting)], [{"arch": "emu:sm_80"}])
        self.assertEqual(len(self.ask("sum(up) == 3")), 1, self.ask("up"))
        groups = json.loads(fetch(self.prometheus + "/api/v1/rules"))["data"]["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        self.assertEqual(len(rules), sum(where.startswith("alert ") for where, _ in queries()))
        self.assertEqual([rule["name"] for rule in rules if rule["health"] != "ok"], [])
        # Of the alerts only that for the job that waits is on its way.
        on = {rule["name"] for rule in rules if rule["state"] != "inactive"}
        self.assertEqual(on, {"HoneNoWorkerForArchitecture"})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", required=True)
    options, rest = parser.parse_known_args()
    if shutil.which("redis-server") is None:
        print("SKIPPED: redis-server is not installed")
        sys.exit(77)
    Monitoring.hone = os.path.abspath(options.hone)
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
