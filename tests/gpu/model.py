#!/usr/bin/env python3
"""Searches the tasks of tests/llm_search on a GPU with rules alone, with a scripted model alone and with both.

Usage: tests/gpu/model.py HONE BUDGET OUT [TASK ...]

The model is a server on this machine that knows each task's trick (NAME.reply.md) and takes a second to say it.
Prints each best's time as hone measured it, one search after the other with the same seed; then searches once more
with the replies that the search with both recorded, without a server.
"""

import http.server
import json
import pathlib
import subprocess
import sys
import threading
import time

TASKS = pathlib.Path(__file__).resolve().parent.parent / "llm_search" / "tasks"
THINKS_S = 1.0


class Model(http.server.BaseHTTPRequestHandler):
    """Streams the trick of the task whose name stands in the prompt."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = body["messages"][-1]["content"]
        name = next(p.stem for p in TASKS.glob("*.cu") if f'"name": "{p.stem}"' in prompt)
        text = (TASKS / f"{name}.reply.md").read_text()
        time.sleep(THINKS_S)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        pieces = [{"choices": [{"delta": {"content": line}}]} for line in text.splitlines(keepends=True)]
        pieces.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        pieces.append({"choices": [], "usage": {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(text) // 4}})
        self.close_connection = True
        try:
            for piece in pieces:
                self.wfile.write(f"data: {json.dumps(piece)}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            pass  # its search is over

    def log_message(self, *_):
        pass


def search(hone, task, budget, db, *more):
    command = [hone, "optimize", task, "--device", "cuda:0", "--budget", budget, "--seed", "7", "--finalists", "2",
               "--db", db, "--quiet", "--json", "-", *more]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {run.returncode}\n{run.stderr}")
    return json.loads(run.stdout)


def main():
    hone, budget, out, *names = sys.argv[1:]
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    llm = ["--llm", f"http://127.0.0.1:{server.server_address[1]}/v1", "--llm-model", "scripted"]
    rules = json.loads(subprocess.run([hone, "rules", "--json", "-"], capture_output=True, text=True, check=True).stdout)
    without = ["--without", ",".join(rule["name"] for rule in rules["rewriters"])]
    better, results = 0, {}
    print(f"{'task':18}{'reference':>10}{'rules':>10}{'model':>10}{'both':>10}{'replayed':>10}  us")
    for task in sorted(TASKS.glob("*.cu")):
        if names and task.stem not in names:
            continue
        record = out / f"{task.stem}.jsonl"
        record.unlink(missing_ok=True)
        ways = {"rules": [], "model": [*llm, *without], "both": [*llm, "--llm-record", record],
                "replayed": ["--llm-replay", record]}
        found = {way: search(hone, task, budget, out / f"{task.stem}-{way}.db", *more) for way, more in ways.items()}
        times = {way: one["best"]["time_us"] for way, one in found.items()}
        won = times["both"] < 0.99 * min(times["rules"], times["model"])
        better += won
        results[task.stem] = found
        reference = found["both"]["reference"]["time_us"]
        print(f"{task.stem:18}{reference:10.2f}" + "".join(f"{times[way]:10.2f}" for way in ways) +
              ("" if won else "  not better") + f"  {found['both']['model']}", flush=True)
    (out / "model.json").write_text(json.dumps(results))
    print(f"better with both than with either: {better} of {len(results)}")


if __name__ == "__main__":
    main()
