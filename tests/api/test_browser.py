#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A real browser, if chromium is installed: logging in, and what pages of elsewhere can do.

It is told what to do over a pipe (--remote-debugging-pipe): messages of the DevTools protocol with a NUL behind each."""
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import TENSORD, Report, Server  # noqa: E402

CHROMIUM = shutil.which("chromium")
SECONDS = 60


class Browser:
    """chromium without a window, with a profile of its own that is thrown away."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="tensord-browser-")
        ours_out, ours_in = os.pipe(), os.pipe()
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--disable-background-networking", "--disable-component-update", "--user-data-dir=" + self.profile,
                   "--host-resolver-rules=MAP *.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
                   "--remote-debugging-pipe", "about:blank"]

        def place():
            os.dup2(ours_out[0], 3)
            os.dup2(ours_in[1], 4)

        for fd in (ours_out[0], ours_in[1]):
            os.set_inheritable(fd, True)
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
                                        preexec_fn=place)
        os.close(ours_out[0])
        os.close(ours_in[1])
        self.to, self.back = os.fdopen(ours_out[1], "wb", 0), os.fdopen(ours_in[0], "rb", 0)
        self.pending, self.number = b"", 0

    def receive(self):
        while b"\0" not in self.pending:
            piece = self.back.read(65536)
            if not piece:
                raise RuntimeError("the browser has gone")
            self.pending += piece
        message, self.pending = self.pending.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        self.to.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError("%s: %s" % (method, answer["error"]))
                return answer["result"]

    def page(self):
        """A page in a profile without cookies."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        return Page(self, self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])

    def close(self):
        try:
            self.call("Browser.close")
            self.process.wait(timeout=SECONDS)
        except (RuntimeError, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


class Page:
    def __init__(self, browser, session):
        self.browser, self.session = browser, session

    def go(self, url):
        self.browser.call("Page.navigate", self.session, url=url)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def run(self, script):
        """The value of an expression of JavaScript, awaited; what it throws, as text."""
        answer = self.browser.call("Runtime.evaluate", self.session, expression=script, awaitPromise=True, returnByValue=True,
                                   allowUnsafeEvalBlockedByCSP=False)
        if "exceptionDetails" in answer:
            return "threw " + answer["exceptionDetails"].get("exception", {}).get("description", "").split("\n")[0]
        return answer["result"].get("value")

    def until(self, script):
        end = time.time() + SECONDS
        while time.time() < end:
            if self.run(script) is True:
                return True
            time.sleep(0.02)
        return False

    def status(self, url, **options):
        """Of a fetch; what it throws, as text."""
        return self.run("fetch(%s, %s).then(answer => answer.status)" % (json.dumps(url), json.dumps(options)))


class Elsewhere(http.server.BaseHTTPRequestHandler):
    """Pages of another origin; they are told what to do by the test."""

    def do_GET(self):
        body = b"<!doctype html><title>elsewhere</title><body>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def a_link_logs_in_once_and_leaves_no_trace(report, server, browser):
    link = subprocess.run([TENSORD, "login", "--data", server.data], capture_output=True, text=True, timeout=60).stdout.strip()
    page = browser.page()
    page.go(link)
    report.check(page.until("document.getElementById('login').textContent.includes('is logged in')"), "the page says so")
    report.check(page.run("location.hash + location.search") == "", "the code is in the address")
    history = browser.call("Page.getNavigationHistory", page.session)["entries"]
    report.check(not any("token" in entry["url"] for entry in history), f"{history}")
    report.check(page.run("document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)") == "{}{}", "scripts see it")
    again = browser.page()
    again.go(link)
    report.check(again.until("document.getElementById('login').textContent.includes('was used')"), "the link again")
    report.check(again.status("/v1/info") == 401, "another profile is not logged in")
    return page


def the_page_computes_with_its_cookie(report, page):
    eval_ = dict(method="POST", body='{"program": "page = 6 * 7", "store": ["page"]}')
    report.check(page.status("/v1/eval", headers={"Content-Type": "application/json"}, **eval_) == 403, "without the header")
    report.check(page.status("/v1/eval", headers={"Content-Type": "application/json", "X-Tensord": "1"}, **eval_) == 200, "with it")
    report.check("threw EvalError" in str(page.run("new Function('return 1')()")), "the policy forbids eval")
    page.run("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.injected = 1\"><script>window.injected = 1</script>')")
    time.sleep(0.2)
    report.check(page.run("window.injected === undefined"), "markup that got in runs")
    report.check("threw" in str(page.status("http://127.0.0.1:1/")), "the policy forbids connections elsewhere")


def a_page_elsewhere_can_do_nothing(report, server, page, evil):
    """In the same browser, which is logged in; another port is another origin, and yet the same site."""
    url = "http://127.0.0.1:%d" % server.port
    page.go("http://127.0.0.1:%d/" % evil.server_port)
    json_headers = {"Content-Type": "application/json", "X-Tensord": "1"}
    body = '{"program": "stolen = 1", "store": ["stolen"]}'
    for options in ({}, {"credentials": "include"}, {"credentials": "include", "method": "POST", "headers": json_headers, "body": body},
                    {"credentials": "include", "method": "DELETE", "headers": {"X-Tensord": "1"}},
                    {"headers": {"Authorization": "Bearer " + server.token}}):
        for path in ("/v1/eval", "/v1/variables/page", "/v1/info"):
            report.check("threw" in str(page.status(url + path, **options)), f"{path} {options}")
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        page.status(url + "/v1/eval", mode="no-cors", credentials="include", method="POST", headers={"Content-Type": kind}, body=body)
    page.run("""(() => {
        const form = document.createElement('form'), field = document.createElement('input'), frame = document.createElement('iframe');
        frame.name = 'f'; form.target = 'f'; form.method = 'POST'; form.enctype = 'text/plain'; form.action = '%s/v1/eval';
        field.name = '{"program": "stolen = 1", "store": ["stolen"], "x'; field.value = '": 1}';
        form.append(field); document.body.append(frame, form); form.submit(); })()""" % url)
    page.run("navigator.sendBeacon('%s/v1/eval', new Blob([%s], {type: 'text/plain'}))" % (url, json.dumps(body)))
    page.run("for (const tag of ['img', 'script', 'iframe']) { const e = document.createElement(tag);"
             " e.src = '%s/v1/variables/page'; e.onload = () => { window.loaded = (window.loaded || '') + tag }; document.body.append(e) }" % url)
    time.sleep(1)
    report.check(page.run("(window.loaded || '').replace('iframe', '')") == "", "a picture or script was loaded")
    page.run("{ const e = document.createElement('iframe'); e.src = '%s/'; document.body.append(e) }" % url)
    time.sleep(1)
    tree = page.browser.call("Page.getFrameTree", page.session)["frameTree"]
    shown = [child["frame"].get("unreachableUrl", "") for child in tree.get("childFrames", [])]
    report.check(url + "/" in shown, f"the page in a frame: {json.dumps(tree)[:1000]}")
    report.check(server.request("GET", "/v1/variables/stolen")[0] == 404, "a page elsewhere stored something")
    report.check(server.json("GET", "/v1/variables/page")[1]["data"] == 42, "a page elsewhere changed something")


def a_name_that_was_rebound_is_refused(report, server, browser):
    """evil.example leads here; a page of it on our port would be of the same origin."""
    page = browser.page()
    page.go("http://evil.example:%d/" % server.port)
    report.check("host-not-allowed" in str(page.run("document.body.textContent")), "the first page")
    for path in ("/v1/info", "/page.js", "/openapi.json"):
        report.check(page.status(path) in (403, "threw TypeError: Failed to fetch"), path)
    report.check("threw" in str(page.status("/v1/eval", method="POST", headers={"Content-Type": "application/json"}, body="{}"))
                 or page.status("/v1/eval", method="POST", body="{}") == 403, "a request of it")


def a_page_of_the_list_may_use_a_token(report, server, browser, app):
    page = browser.page()
    page.go("http://app.example:%d/" % app.server_port)
    url = "http://127.0.0.1:%d/v1/variables/page" % server.port
    headers = {"Authorization": "Bearer " + server.token}
    script = "fetch('%s', {headers: %s}).then(answer => answer.status + ' ' + (answer.headers.get('ETag') !== null))"
    report.check(page.run(script % (url, json.dumps(headers))) == "200 true", "the answer and its headers")
    body = dict(method="PUT", headers={**headers, "Content-Type": "application/json"}, body="43")
    report.check(page.status(url, **body) == 200, "after a preflight")
    report.check("threw" in str(page.status(url, credentials="include", headers=headers)), "with cookies")
    other = browser.page()
    other.go("http://other.example:%d/" % app.server_port)
    report.check("threw" in str(other.status(url, headers=headers)), "a page that is not of the list")


def logging_out(report, server, page):
    page.go("http://127.0.0.1:%d/" % server.port)
    report.check(page.until("!document.getElementById('logout').hidden"), "the button")
    page.run("document.getElementById('logout').click()")
    report.check(page.until("document.getElementById('login').textContent.includes('not logged in')"), "the page says so")
    report.check(page.status("/v1/info") == 401, "logged out")


def main():
    report = Report()
    if CHROMIUM is None:
        print("SKIPPED: no browser was tried; apt install chromium for that")
        return report.end()
    elsewhere = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
    threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
    browser = Browser()
    try:
        with Server("--allow-origin", "http://app.example:%d" % elsewhere.server_port) as server:
            page = a_link_logs_in_once_and_leaves_no_trace(report, server, browser)
            the_page_computes_with_its_cookie(report, page)
            a_page_elsewhere_can_do_nothing(report, server, page, elsewhere)
            a_name_that_was_rebound_is_refused(report, server, browser)
            a_page_of_the_list_may_use_a_token(report, server, browser, elsewhere)
            logging_out(report, server, page)
    finally:
        browser.close()
        elsewhere.shutdown()
    return report.end()


sys.exit(main())
