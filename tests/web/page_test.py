#!/usr/bin/env python3
"""The pages of `hone serve` in a real browser: a database of real searches, a real queue.

    tests/web/page_test.py --hone build/release/bin/hone [--screenshots FOLDER]

Exit status 77: something that it needs is not installed.
"""

import argparse
import base64
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).parents[2]
TOKEN = "only-for-this-test-0123456789"
HOSTILE = """/* hone {
  "name": "<img src=x onerror=alert(1)><script>alert(2)</script>",
  "sizes": {"N": 65536}, "check_sizes": [{"N": 100}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]}, {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "tunables": {"BLOCK": [64, 128, 256]},
  "launches": [{"kernel": "scale", "grid": ["ceildiv(N,BLOCK)"], "block": ["BLOCK"], "args": ["x", "y", "N"]}]
} */
// </code></pre><script>alert(3)</script><img src=x onerror=alert(4)>
__global__ void scale(const float* x, float* y, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;  // "'</script><svg onload=alert(5)>
  if (i < N) y[i] = 2.0f * x[i];
}
"""


def missing():
    """What is not installed; None: all is."""
    try:
        import selenium.webdriver  # noqa: F401
    except ImportError:
        return "python3-selenium"
    for program in ("chromium", "chromedriver", "redis-server"):
        if shutil.which(program) is None:
            return program
    return None


def axe():
    """The accessibility checker axe-core as a script, which scripts/setup.sh fetches; None: it is not there."""
    script = ROOT / "build/axe/axe_core_python/axe.min.js"
    return script.read_text() if script.exists() else None


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(what, seconds, description):
    until = time.time() + seconds
    while time.time() < until:
        value = what()
        if value:
            return value
        time.sleep(0.1)
    raise AssertionError(f"waited {seconds} s for: {description}")


class Service:
    """A database with finished searches, and all processes of a service."""

    def __init__(self, hone, folder):
        self.hone, self.folder = hone, pathlib.Path(folder)
        self.processes = []
        self.database = str(self.folder / "hone.db")
        environment = dict(os.environ, XDG_CACHE_HOME=str(self.folder / "cache"))
        environment.pop("HONE_REDIS", None)
        self.environment = environment
        hostile = self.folder / "hostile.cu"
        hostile.write_text(HOSTILE)
        for task, budget in ((ROOT / "baselines/vector_add/vector_add.cu", 10), (hostile, 10),
                             (ROOT / "baselines/matmul/matmul.cu", 40)):
            subprocess.run([hone, "optimize", str(task), "--device", "emu:sm_90", "--budget", str(budget),
                            "--db", self.database],
                           check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        redis = str(self.folder / "redis.sock")
        self.redis = "unix://" + redis
        self.start(["redis-server", "--port", "0", "--unixsocket", redis, "--save", "", "--dir", str(self.folder)])
        wait_for(lambda: os.path.exists(redis), 10, "redis-server")
        token = self.folder / "token"
        token.write_text(TOKEN + "\n")
        token.chmod(0o600)
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.start([hone, "coordinator", "--redis", self.redis, "--db", self.database])
        self.start([hone, "worker", "--redis", self.redis, "--device", "emu:sm_90"])
        self.server = self.start([hone, "serve", "--db", self.database, "--redis", self.redis, "--listen",
                                  f"127.0.0.1:{port}", "--allow-submit", "--token-file", str(token)])
        wait_for(self.answers, 10, "the server")

    def start(self, command):
        with open(self.folder / f"{len(self.processes)}.log", "wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=self.environment)
        self.processes.append(process)
        return process

    def answers(self):
        with contextlib.suppress(OSError):
            urllib.request.urlopen(self.url + "/", timeout=5).read()
            return True
        return False

    def json(self, path):
        return json.load(urllib.request.urlopen(self.url + path, timeout=10))

    def end(self):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        for process in reversed(self.processes):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


class Pages(unittest.TestCase):
    options = None

    @classmethod
    def setUpClass(cls):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service as Driver
        cls.folder = tempfile.TemporaryDirectory(prefix="hone_web_")
        cls.service = Service(cls.options.hone, cls.folder.name)
        chrome = webdriver.ChromeOptions()
        chrome.binary_location = shutil.which("chromium")
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                         f"--user-data-dir={cls.folder.name}/chromium"):
            chrome.add_argument(argument)
        chrome.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        cls.browser = webdriver.Chrome(options=chrome, service=Driver(shutil.which("chromedriver")))
        cls.browser.set_page_load_timeout(30)
        cls.allowed = ()

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.service.end()
        status = cls.service.server.returncode
        cls.folder.cleanup()
        assert status == 0, f"hone serve ended with {status}"

    def setUp(self):
        self.browser.get_log("browser")
        self.expected = []  # parts of console messages that a test provokes

    def tearDown(self):
        for entry in self.browser.get_log("browser"):
            if not any(part in entry["message"] for part in self.expected):
                self.fail(f"console: {entry['level']} {entry['message']}")

    def open(self, path):
        self.browser.get(self.service.url + path)

    def all(self, selector, inside=None):
        from selenium.webdriver.common.by import By
        return (inside or self.browser).find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector, inside=None):
        found = self.all(selector, inside)
        self.assertTrue(found, f"there is no {selector}")
        return found[0]

    def js(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def unfold(self):
        self.js("document.querySelectorAll('details').forEach(d => d.open = true)")

    def column(self, index):
        return self.js("return [...document.querySelector('table.sortable').tBodies[0].rows]"
                       ".map(r => r.cells[arguments[0]].dataset.sort ?? r.cells[arguments[0]].textContent)", index)

    def best_candidate(self, task="vector_add"):
        boards = self.service.json(f"/api/v1/boards?task={task}")["boards"]
        return boards[0]["rows"][0]["candidate"]

    def test_boards_say_what_they_are(self):
        self.open("/")
        self.assertEqual(self.one("h1").text, "Boards")
        self.assertGreaterEqual(len(self.all("table")), 2)
        self.assertEqual({e.text for e in self.all("section .modelled")}, {"modelled"})

        def every_board():  # what another test submitted may end just now
            self.open("/")
            return len(self.all("table")) == len(self.service.json("/api/v1/boards")["boards"])
        wait_for(every_board, 20, "a table for every board")
        self.one("a[href^='/tasks/']").click()
        self.assertIn("Reference", self.one("main").text)

    def test_sorts_by_click_and_by_keyboard(self):
        from selenium.webdriver.common.keys import Keys
        self.open("/tasks/" + self.service.json("/api/v1/boards?task=vector_add")["boards"][0]["task_hash"])
        headings = [h.text for h in self.all("table.sortable thead th")]
        time_at, served = headings.index("Modelled time"), self.column(0)
        self.assertGreater(len(served), 2)
        heading = self.all("table.sortable thead th")[time_at]
        button = self.one("button", heading)
        button.click()
        self.assertEqual(heading.get_attribute("aria-sort"), "ascending")
        self.assertEqual(self.column(time_at), sorted(self.column(time_at), key=float))
        button.send_keys(Keys.ENTER)
        self.assertEqual(heading.get_attribute("aria-sort"), "descending")
        self.assertEqual(self.column(time_at), sorted(self.column(time_at), key=float, reverse=True))
        rank = self.one("button", self.all("table.sortable thead th")[0])
        rank.send_keys(Keys.SPACE)
        self.assertEqual(heading.get_attribute("aria-sort"), "none")
        self.assertEqual(self.column(0), served)

    def test_keyboard_finds_its_way(self):
        from selenium.webdriver.common.keys import Keys
        self.open("/")
        self.one("body").send_keys(Keys.TAB)
        skip = self.browser.switch_to.active_element
        self.assertEqual(skip.text, "Skip to the content")
        self.assertGreaterEqual(skip.location["x"], 0)
        skip.send_keys(Keys.ENTER)
        wait_for(lambda: self.js("return document.activeElement.id") == "main", 5, "focus on main")
        for element in self.all("input, select, textarea"):
            self.assertTrue(self.js("return arguments[0].labels.length", element))
        for region in self.all(".region"):
            self.assertEqual(region.get_attribute("tabindex"), "0")
        for table in self.all("table"):
            self.assertTrue(self.one("caption", table).text)
            self.assertFalse([th for th in self.all("th", table) if not th.get_attribute("scope")])

    def test_works_without_script(self):
        self.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        try:
            self.open("/")
            self.assertFalse(self.all("thead button"))
            self.assertTrue(self.all("tbody tr"))
        finally:
            self.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})

    def test_a_candidate_beside_the_reference(self):
        self.open("/candidates/" + self.best_candidate())
        self.unfold()
        self.assertTrue(self.all(".diff .removed") or self.all(".diff .added"))
        self.assertTrue(self.one(".diff caption").text)
        body = self.js("return getComputedStyle(document.body).backgroundColor")
        cell = self.one(".diff td.added")
        self.assertNotEqual(self.js("return getComputedStyle(arguments[0]).backgroundColor", cell), body)
        numbers = [e.text for e in self.all(".diff tr td:nth-child(4)") if e.text]
        self.assertEqual(numbers, [str(i + 1) for i in range(len(numbers))])
        field = self.one("input[name=against]")
        field.send_keys(self.best_candidate()[:10])
        field.submit()
        # Until the next page is there, this one's elements are found.
        wait_for(lambda: "against=" in self.browser.current_url and self.all("#diff"), 20, "the other comparison")
        self.assertIn("The sources are the same.", self.one("#diff").text)

    def test_strangers_words_stay_words(self):
        boards = self.service.json("/api/v1/boards")["boards"]
        hostile = next(b for b in boards if b["task"].startswith("<img"))
        paths = ["/", "/runs", "/tasks/" + hostile["task_hash"], "/candidates/" + hostile["rows"][0]["candidate"],
                 "/runs/2", "/?task=%22%3E%3Cscript%3Ealert(6)%3C/script%3E"]
        for path in paths:
            self.open(path)
            self.assertFalse(self.all("img"), path)
            self.assertFalse([s for s in self.all("script") if not s.get_attribute("src")], path)
            self.assertFalse(self.all("svg[onload]"), path)
            from selenium.common.exceptions import NoAlertPresentException
            with self.assertRaises(NoAlertPresentException):
                self.browser.switch_to.alert.text
        self.open("/tasks/" + hostile["task_hash"])
        self.assertEqual(self.one("h1").text, hostile["task"])

    def live(self):
        """The part that may be another element the next moment."""
        return self.js("return document.getElementById('live').textContent")

    def alert(self):
        return self.js("return document.querySelector('[role=alert]')?.textContent ?? ''")

    def submit(self, token, budget="60", task=None):
        self.open("/submit")
        task = task or (ROOT / "baselines/vector_add/vector_add.cu").read_text()
        self.js("document.getElementById('task').value = arguments[0]", task)
        self.one("#archs").send_keys("emu:sm_90")
        self.js("document.getElementById('budget').value = arguments[0]", budget)
        self.one("#token").clear()  # of this tab's last submission
        self.one("#token").send_keys(token)
        self.one("form.submit button").click()

    def test_submits_with_the_token_only(self):
        self.expected = ["401", "the server responded with a status of 400"]
        before = len(self.service.json("/api/v1/jobs")["jobs"])
        self.submit("")
        self.assertTrue(self.browser.current_url.endswith("/submit"))  # the browser wants the field
        self.submit("wrong-token-of-some-length")
        wait_for(lambda: "Wrong token" in self.alert(), 10, "the refusal")
        self.assertIn("__global__", self.one("#task").get_attribute("value"))
        self.assertEqual(self.one("#token").get_attribute("value"), "")  # what was refused is not kept
        self.submit(TOKEN, "soon")
        wait_for(lambda: "soon" in self.alert(), 10, "what is wrong with the budget")
        self.assertEqual(len(self.service.json("/api/v1/jobs")["jobs"]), before)

    def test_the_example_of_a_task_is_one(self):
        self.open("/submit")
        self.unfold()
        self.submit(TOKEN, "2", self.js("return document.querySelector('#example pre code').textContent"))
        wait_for(lambda: "/jobs/" in self.browser.current_url, 20, "the job's page")
        wait_for(lambda: "done" in self.live(), 300, "its end")
        self.assertIn("2 evaluations", self.live())

    def test_a_module_is_refused_with_what_to_do_instead(self):
        self.expected = ["the server responded with a status of 400", "the server responded with a status of 413"]
        for size, why in ((1000, "This is no text"), (3 << 20, "A request may have 1024 KiB at most")):
            module = pathlib.Path(self.service.folder, "model.pt2")
            module.write_bytes(b"PK\x03\x04" + bytes(size))
            self.open("/submit")
            self.assertIn("run hone submit FILE --redis URL where they are", self.one("#task-help").text)
            self.one("#task_file").send_keys(str(module))
            self.one("#archs").send_keys("emu:sm_90")
            self.one("#token").clear()
            self.one("#token").send_keys(TOKEN)
            self.one("form.submit button").click()
            wait_for(lambda: why in self.js("return document.body.textContent"), 20, "the refusal")
            self.assertIn("hone submit FILE --redis URL", self.js("return document.body.textContent"))

    def test_a_search_is_seen_live(self):
        self.submit(TOKEN, "40")
        wait_for(lambda: "/jobs/" in self.browser.current_url, 20, "the job's page")
        self.assertEqual(self.browser.get_cookies(), [])
        self.assertNotIn(TOKEN, self.browser.page_source)
        job = self.browser.current_url.rsplit("/", 1)[1]
        run = wait_for(lambda: self.service.json(f"/api/v1/runs?job={job}")["runs"], 30, "its run")[0]["run"]
        wait_for(lambda: any(state in self.live() for state in ("searching", "finishing", "done")), 20, "its state")
        self.open(f"/runs/{run}")
        seen, until = set(), time.time() + 300  # of a machine that does other things beside
        while time.time() < until:
            seen.add(self.js("return document.getElementById('live-status').textContent"))
            state = self.js("return document.querySelector('#live dd').textContent")
            if state != "running" and len(seen) > 1:
                break
            time.sleep(0.2)
        self.assertNotEqual(state, "running")
        refreshed = self.js("return Number(document.querySelector('main').dataset.refreshed ?? 0)")
        self.assertGreaterEqual(refreshed, 1, "the page was never brought up to date")
        self.assertGreater(len(seen), 1, seen)
        self.assertTrue(self.all("#live svg.chart circle"))
        self.open("/jobs")
        self.assertIn(job, self.live())

    def tab_to(self, selector):
        """The element that fits, reached as one without a mouse reaches it."""
        from selenium.webdriver import ActionChains
        from selenium.webdriver.common.keys import Keys
        for _ in range(120):
            ActionChains(self.browser).send_keys(Keys.TAB).perform()
            if self.js("return document.activeElement.matches(arguments[0])", selector):
                return self.browser.switch_to.active_element
        self.fail(f"the Tab key never comes to {selector}")

    def test_a_job_from_submit_to_export_by_keyboard(self):
        from selenium.webdriver.common.keys import Keys
        downloads = pathlib.Path(self.folder.name) / "downloads"
        self.browser.execute_cdp_cmd("Browser.setDownloadBehavior", {
            "behavior": "allow", "downloadPath": str(downloads)})
        self.open("/")
        self.tab_to("nav a[href='/submit']").send_keys(Keys.ENTER)
        wait_for(lambda: self.browser.current_url.endswith("/submit"), 10, "the form")
        # What opens with Enter is the system's own dialog; the driver answers it.
        self.tab_to("#task_file").send_keys(str(ROOT / "baselines/gelu/gelu.cu"))
        box = self.tab_to("input[name='arch_emu:sm_90']")
        self.assertTrue(box.is_selected())  # the only one that a worker serves
        box.send_keys(Keys.SPACE + Keys.SPACE)
        self.assertTrue(box.is_selected())
        budget = self.tab_to("#budget")
        budget.send_keys(Keys.CONTROL + "a")
        budget.send_keys("40")
        self.tab_to("#token").send_keys(TOKEN)
        self.tab_to("form.submit button").send_keys(Keys.ENTER)
        wait_for(lambda: "/jobs/" in self.browser.current_url, 20, "the job's page")
        self.assertEqual(self.one("form[data-token] input[name=token]").get_attribute("value"), TOKEN)
        wait_for(lambda: "done" in self.live(), 300, "its end")
        self.browser.refresh()
        self.assertFalse(self.all("form[action$='/cancel']"))
        self.tab_to("#live a[href^='/candidates/']").send_keys(Keys.ENTER)
        wait_for(lambda: "/candidates/" in self.browser.current_url, 10, "the candidate")
        self.tab_to("details.legend summary").send_keys(Keys.ENTER)
        self.assertTrue(self.one("details.legend dd").is_displayed())
        self.tab_to("#source a[href$='format=cu']").send_keys(Keys.ENTER)
        file = wait_for(lambda: next(downloads.glob("hone_*.cu"), None), 10, "the file")
        self.assertIn("__global__", file.read_text())

    def test_a_job_is_cancelled_on_its_page(self):
        self.submit(TOKEN, "100000")
        wait_for(lambda: "/jobs/" in self.browser.current_url, 20, "the job's page")
        page = self.browser.current_url
        job = page.rsplit("/", 1)[1]
        run = wait_for(lambda: self.service.json(f"/api/v1/runs?job={job}")["runs"], 30, "its run")[0]["run"]
        try:
            self.open(f"/runs/{run}")
            self.keeps_what_is_unfolded()
        finally:  # else it takes the worker from other tests
            self.browser.get(page)
            self.one("form[action$='/cancel'] button").click()
            wait_for(lambda: "cancelled" in self.live(), 30, "its end")

    def keeps_what_is_unfolded(self):
        """A page that is brought up to date leaves open, and focused, what its reader has unfolded."""
        from selenium.webdriver.common.keys import Keys
        summary = "#live details summary"
        wait_for(lambda: self.js("const s = document.querySelector(arguments[0]); s?.focus(); return s", summary),
                 60, "something to unfold")
        self.browser.switch_to.active_element.send_keys(Keys.ENTER)
        count = "return Number(document.querySelector('main').dataset.refreshed ?? 0)"
        before = self.js(count)
        wait_for(lambda: self.js(count) > before + 1, 30, "the page brought up to date twice")
        self.assertTrue(self.js("return document.querySelector('#live details').open"))
        self.assertTrue(self.js("return document.activeElement.matches(arguments[0])", summary))

    def look(self, scheme, width):
        """From here on, until look_as_ever()."""
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500})
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def look_as_ever(self):
        self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})

    def every_page(self):
        board = self.service.json("/api/v1/boards?task=matmul")["boards"][0]
        pages = {"boards": "/", "task": "/tasks/" + board["task_hash"],
                 "candidate": "/candidates/" + board["rows"][0]["candidate"], "runs": "/runs", "run": "/runs/1",
                 "jobs": "/jobs", "workers": "/workers", "submit": "/submit"}
        jobs = self.service.json("/api/v1/jobs")["jobs"]
        if jobs:
            pages["job"] = "/jobs/" + jobs[0]["job"]
        return pages

    def test_the_tab_key_comes_to_every_control(self):
        from selenium.webdriver import ActionChains
        from selenium.webdriver.common.keys import Keys
        for name, path in self.every_page().items():
            self.open(path)
            self.unfold()
            self.js("""
                window.unreached = new Set([...document.querySelectorAll(
                    'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]')]
                    .filter(e => e.checkVisibility()));
                window.controls = window.unreached.size;
                document.addEventListener('focusin', e => window.unreached.delete(e.target));""")
            controls = self.js("return window.controls")
            self.assertGreater(controls, 4, name)
            for _ in range(0, controls + 5, 20):
                ActionChains(self.browser, duration=0).send_keys(Keys.TAB * 20).perform()
            left = self.js("return [...window.unreached].filter(e => e.isConnected).map(e => e.outerHTML)")
            self.assertEqual(left, [], f"{name}: the Tab key comes to {controls - len(left)} of {controls}")

    def test_no_link_leads_nowhere(self):
        links = {}
        for name, path in self.every_page().items():
            self.open(path)
            for link in self.js("return [...document.links].map(a => a.href)"):
                links.setdefault(link.split("#")[0], name)
        self.assertGreater(len(links), 30)
        for link, name in links.items():
            self.assertTrue(link.startswith(self.service.url), link)
            with urllib.request.urlopen(link, timeout=20) as answer:  # raises where it is an error
                self.assertTrue(answer.read(), f"{name}: {link}")

    def test_whoever_does_not_see_it_can_use_it(self):
        """By axe-core where its package is installed, and always by what Chromium tells a screen reader."""
        checker = axe()
        for scheme, width in (("light", 1300), ("dark", 1300), ("light", 400), ("dark", 400)):
            self.look(scheme, width)
            for name, path in self.every_page().items():
                self.open(path)
                self.unfold()
                nodes = self.browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
                roles = [n["role"]["value"] for n in nodes if not n["ignored"] and "role" in n]
                self.assertEqual(roles.count("main"), 1, name)
                for node in nodes:
                    role = node.get("role", {}).get("value")
                    if not node["ignored"] and role in ("button", "link", "textbox", "combobox", "spinbutton",
                                                        "checkbox", "image", "progressbar", "table", "region"):
                        self.assertTrue(node.get("name", {}).get("value", "").strip(), f"{name}: a {role} has no name")
                self.assertEqual(roles.count("table"), len(self.all("table")), f"{name}, {width}: a table is none")
                self.assertFalse(self.all("tbody tr") and "rowheader" not in roles and "cell" not in roles, name)
                if checker:
                    self.js(checker)
                    found = self.browser.execute_async_script(
                        "const done = arguments[arguments.length - 1]; axe.run().then(done)")
                    self.assertGreater(len(found["passes"]), 20, name)
                    self.assertEqual([(v["id"], v["nodes"][0]["html"]) for v in found["violations"]], [],
                                     f"{name}, {scheme}, {width}")
        self.look_as_ever()
        if checker is None:
            print("axe-core is not installed: only Chromium's own tree was looked at")

    def test_a_kernel_is_taken_away(self):
        self.open("/candidates/" + self.best_candidate())
        formats = [a.text for a in self.all("#source a[href*='/export?']")]
        self.assertEqual(formats, ["cu", "hpp", "torch", "cupy", "json"])
        self.browser.execute_cdp_cmd("Browser.grantPermissions", {
            "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
        self.one("#source button").click()
        wait_for(lambda: self.one("#source [role=status]").text == "Copied.", 5, "the copy")
        copied = self.browser.execute_async_script(
            "const done = arguments[arguments.length - 1]; navigator.clipboard.readText().then(done)")
        self.assertIn("__global__", copied)
        self.assertEqual(copied, self.js("return document.querySelector('.source code').textContent"))

    def test_pictures_of_all_widths_and_colours(self):
        report = pathlib.Path(self.folder.name) / "report.html"
        subprocess.run([self.service.hone, "report", "3", "--db", self.service.database, "-o", str(report)],
                       check=True, env=self.service.environment)
        self.expected = ["404"]  # "missing", and a console that says so
        vector_add = self.service.json("/api/v1/boards?task=vector_add")["boards"][0]["task_hash"]
        pages = dict(self.every_page(), **{
            "vector_add": f"/tasks/{vector_add}", "vector_add-candidate": f"/candidates/{self.best_candidate()}",
            "matmul-run": "/runs/3", "missing": "/nothing", "report": report.as_uri()})
        colours = {}
        try:
            for width in (400, 1300):
                for scheme in ("light", "dark"):
                    self.look(scheme, width)
                    for name, path in pages.items():
                        self.browser.get(path if path.startswith("file:") else self.service.url + path)
                        wide = self.js("return document.documentElement.scrollWidth")
                        self.assertLessEqual(wide, width, f"{name} is wider than {width} px")
                        if width == 400:  # a chart shrinks; what is read in it does not
                            sizes = self.js("return [...document.querySelectorAll('svg.chart text')]"
                                            ".map(t => t.getBoundingClientRect().height)")
                            self.assertGreaterEqual(min(sizes, default=99), 10, name)
                            cut = self.js("return [...document.querySelectorAll('.region')]"
                                          ".filter(r => r.scrollWidth > r.clientWidth).map(r => r.ariaLabel)")
                            self.assertEqual(cut, [], f"{name}: tables that are cut off")
                            changed = self.js("return [...document.querySelectorAll('.diff td.added')]"
                                              ".map(t => t.getBoundingClientRect().right)")
                            self.assertLessEqual(max(changed, default=0), width, f"{name}: a change is out of sight")
                        colours[scheme] = self.js("return getComputedStyle(document.body).backgroundColor")
                        if self.options.screenshots:
                            folder = pathlib.Path(self.options.screenshots)
                            folder.mkdir(parents=True, exist_ok=True)
                            size = self.browser.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
                            picture = self.browser.execute_cdp_cmd("Page.captureScreenshot", {
                                "captureBeyondViewport": True, "clip": dict(size, scale=1)})
                            (folder / f"{name}-{width}-{scheme}.png").write_bytes(
                                base64.b64decode(picture["data"]))
            # On paper, from a dark desktop, too.
            self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                "width": 720, "height": 1000, "deviceScaleFactor": 1, "mobile": False})
            self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
                "media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]})
            for name in ("report", "task"):
                self.browser.get(pages[name] if name == "report" else self.service.url + pages[name])
                ends = self.js("return [...document.querySelectorAll('table, svg, pre')]"
                               ".map(t => t.getBoundingClientRect().right)")
                self.assertLessEqual(max(ends), 720, f"{name} is cut on paper")
                self.assertEqual(self.js("return getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
                self.assertEqual(self.js("return getComputedStyle(document.querySelector('.modelled')).color"),
                                 "rgb(138, 90, 0)")
        finally:
            self.look_as_ever()
        self.assertNotEqual(colours["light"], colours["dark"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", required=True)
    parser.add_argument("--screenshots", help="a folder for pictures of every page")
    Pages.options, rest = parser.parse_known_args()
    Pages.options.hone = os.path.abspath(Pages.options.hone)
    lacking = missing()
    debian = "/usr/bin/python3"  # whose selenium is the package's, whatever python3 is on the path
    if lacking == "python3-selenium" and os.path.realpath(sys.executable) != os.path.realpath(debian) \
            and os.path.exists(debian) and "HONE_PAGE_TEST" not in os.environ:
        os.execve(debian, [debian, *sys.argv], dict(os.environ, HONE_PAGE_TEST="again"))
    if lacking:
        print(f"skipped: {lacking} is not installed")
        return 77
    return 0 if unittest.main(argv=[sys.argv[0], *rest], exit=False, verbosity=2).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
