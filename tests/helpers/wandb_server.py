"""A small W&B server on the loopback, which keeps the requests of the real client.

The server speaks the part of the protocol that a run needs: GraphQL for runs and artifacts, the
file stream for history and summary, uploads for files. The protocol is private to W&B; this part
was read off wandb 0.31.
"""

import json
import re
import threading
import time
from base64 import b64encode
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "0123456789abcdef" * 2 + "01234567"
"""A key of the required length; a file or log that contains the key is a leak."""
ENTITY = "tester"


NEW_YEAR = "2026-01-01T00:00:00"


def encoded(text: str) -> str:
    """Return an id in the client's encoding."""
    return b64encode(text.encode()).decode()


def _project(name: str) -> dict[str, Any]:
    entity = {"id": encoded(ENTITY), "name": ENTITY}
    return {"id": encoded("project"), "name": name, "entity": entity}


def _bucket(name: str, run: "Run") -> dict[str, Any]:
    return {
        "id": encoded(name),
        "name": name,
        "displayName": run.fields.get("displayName"),
        "config": run.fields.get("config", "{}"),
        "historyLineCount": len(run.history),
    }


class Run:
    """Received data of one run."""

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        """Variables of ``UpsertBucket``: ``displayName``, ``groupName``, ``jobType``, ``tags``…"""
        self.config: dict[str, Any] = {}
        self.history: list[dict[str, Any]] = []
        self.summary: dict[str, Any] = {}
        self.files: dict[str, bytes] = {}
        self.console: list[str] = []
        self.alerts: list[dict[str, Any]] = []
        """Variables of ``NotifyScriptableRunAlert``: ``title``, ``text``, ``severity``…"""
        self.used: list[str] = []  # names of the artifacts that the run used
        self.exit_code: int | None = None

    def upsert(self, variables: dict[str, Any]) -> None:
        """Take the variables of an ``UpsertBucket``; missing variables keep their values."""
        self.fields |= {name: value for name, value in variables.items() if value is not None}
        config = json.loads(self.fields.get("config", "{}"))
        self.config = {name: node["value"] for name, node in config.items()}

    def stream(self, sent: dict[str, Any]) -> None:
        """Take a piece of the file stream."""
        for name, part in sent.get("files", {}).items():
            if name == "output.log":
                self.console[part["offset"] :] = part["content"]
                continue
            lines = [json.loads(line) for line in part["content"] if line]
            if name == "wandb-history.jsonl":
                self.history[part["offset"] :] = lines
            elif name == "wandb-summary.json" and lines:
                self.summary = lines[-1]
        if sent.get("complete"):
            self.exit_code = sent["exitcode"]


class WandbServer:
    """Runs and artifacts as received, by name.

    ``error`` is the status of every response, without an answer; ``delay`` is the wait before each
    response, in seconds. ``on_stream`` is called when a piece of the file stream has arrived.
    """

    def __init__(self, delay: float = 0.0, error: int | None = None) -> None:
        self.delay, self.error = delay, error
        self.on_stream: Callable[[], None] = lambda: None
        self.runs: dict[str, Run] = {}
        self.artifacts: dict[str, dict[str, Any]] = {}
        """By collection: ``type``, the names of its ``files``, whether ``committed``."""
        self.reports: dict[str, dict[str, Any]] = {}
        """Variables of ``upsertView`` by the id of the report."""
        self.uploads: dict[str, bytes] = {}
        self.requests = 0
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._http.handle_error = lambda *_: None  # type: ignore[method-assign]  # hung up
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> "WandbServer":
        threading.Thread(target=self._http.serve_forever, args=[0.05], daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """Stop listening; connections are refused from now on."""
        self._http.shutdown()
        self._http.server_close()

    @property
    def environment(self) -> dict[str, str]:
        """Variables that make the client talk to this server."""
        return {"WANDB_BASE_URL": self.url, "WANDB_API_KEY": KEY}

    def answer(self, path: str, body: bytes) -> Any:
        """Take one request and return the JSON of its answer; None for an unknown path."""
        if path == "/graphql":
            request = json.loads(body)
            return self._graphql(request["query"], request.get("variables") or {})
        if stream := re.fullmatch(r"/files/\w+/[\w-]+/([\w.-]+)/file_stream", path):
            self.runs[stream[1]].stream(json.loads(body))
            self.on_stream()
            return {}
        if upload := re.fullmatch(r"/upload/(.+)", path):
            self.uploads[upload[1]] = body
            kind, owner, name = upload[1].split("/", 2)
            if kind == "run":
                self.runs[owner].files[name] = body
            return {}
        return None

    def _graphql(self, query: str, given: dict[str, Any]) -> dict[str, Any]:
        match = re.match(r"\s*(?:query|mutation) (\w+)", query)
        answer = getattr(self, f"_{match[1]}", None) if match else None
        if answer is None:
            return {"errors": [{"message": f"not known here: {query[:60]}"}]}
        return {"data": answer(given)}

    def _Viewer(self, given: dict[str, Any]) -> Any:
        return {"viewer": {"id": encoded("viewer"), "entity": ENTITY, "username": ENTITY}}

    _GetDefaultEntity = _Viewer

    def _ServerFeaturesQuery(self, given: dict[str, Any]) -> Any:
        return {"serverInfo": {"features": []}}

    def _RunResumeStatus(self, given: dict[str, Any]) -> Any:
        bucket = None
        if run := self.runs.get(given["name"]):
            rows = [json.dumps(row) for row in run.history[-1:]]
            bucket = _bucket(given["name"], run) | {
                "summaryMetrics": json.dumps(run.summary),
                "tags": run.fields.get("tags", []),
                "notes": None,
                "historyTail": json.dumps(rows),
                **dict.fromkeys(("logLineCount", "eventsLineCount"), 0),
                "eventsTail": "[]",
                "wandbConfig": json.dumps({"t": 1}),
            }
        return {"model": _project(given["project"]) | {"bucket": bucket}}

    def _UpsertBucket(self, given: dict[str, Any]) -> Any:
        inserted = given["name"] not in self.runs
        run = self.runs.setdefault(given["name"], Run())
        run.upsert(given)
        bucket = _bucket(given["name"], run) | {"project": _project(given["project"])}
        return {"upsertBucket": {"bucket": bucket, "inserted": inserted}}

    def _GetProjects(self, given: dict[str, Any]) -> Any:
        names = {run.fields["project"] for run in self.runs.values()}
        about = {"entityName": ENTITY, "createdAt": NEW_YEAR, "isBenchmark": False, "user": None}
        edges = [{"node": {"id": encoded(name), "name": name, **about}} for name in names]
        return {"models": {"edges": edges, "pageInfo": {"endCursor": None, "hasNextPage": False}}}

    def _upsertView(self, given: dict[str, Any]) -> Any:
        id = given["id"] or encoded(f"report {len(self.reports)}")
        inserted = id not in self.reports
        self.reports[id] = given
        project = {"id": encoded("project"), "name": given["projectName"], "entityName": ENTITY}
        header = {name: given[name] for name in ("type", "name", "displayName", "description")}
        view = {"id": id, "project": project, "spec": given["spec"], "updatedAt": None, **header}
        return {"upsertView": {"view": view, "inserted": inserted}}

    def _CreateRunFiles(self, given: dict[str, Any]) -> Any:
        files = [
            {"name": name, "uploadUrl": f"{self.url}/upload/run/{given['run']}/{name}"}
            for name in given["files"]
        ]
        answer = {"runID": encoded(given["run"]), "uploadHeaders": [], "files": files}
        return {"createRunFiles": answer}

    def _CreateArtifact(self, given: dict[str, Any]) -> Any:
        entries = given["input"]
        name = entries["artifactCollectionName"]
        kept = {"type": entries["artifactTypeName"], "files": [], "committed": False}
        self.artifacts[name] = kept
        sequence = {"id": encoded(f"{name} all"), "latestArtifact": None}
        artifact = {"id": encoded(name), "state": "PENDING", "artifactSequence": sequence}
        return {"createArtifact": {"artifact": artifact}}

    def _CreateArtifactManifest(self, given: dict[str, Any]) -> Any:
        place = f"{self.url}/upload/manifest/{given['artifactID']}/{given['name']}"
        file = {"id": encoded("file"), "uploadUrl": place, "uploadHeaders": []}
        manifest = {"id": encoded("manifest"), "file": file}
        return {"createArtifactManifest": {"artifactManifest": manifest}}

    def _CreateArtifactFiles(self, given: dict[str, Any]) -> Any:
        nodes: list[dict[str, Any]] = []
        for file in given["input"]["artifactFiles"]:
            owner, name = file["artifactID"], file["name"]
            self._artifact(owner)["files"].append(name)
            place = f"artifact/{owner}/{name}"
            upload = {"uploadUrl": f"{self.url}/upload/{place}", "uploadHeaders": []}
            node = {"storagePath": place, "uploadMultipartUrls": None, "artifact": {"id": owner}}
            nodes.append(upload | node)
        return {"createArtifactFiles": {"files": {"edges": [{"node": node} for node in nodes]}}}

    def _CommitArtifact(self, given: dict[str, Any]) -> Any:
        self._artifact(given["artifactID"])["committed"] = True
        return {"commitArtifact": {"artifact": {"id": given["artifactID"], "digest": "d"}}}

    def _UseArtifact(self, given: dict[str, Any]) -> Any:
        id = given["input"]["artifactID"]
        name = next(name for name in self.artifacts if encoded(name) == id)
        self.runs[given["input"]["runName"]].used.append(name)
        return {"useArtifact": {"artifact": {"id": id}}}

    def _ArtifactByID(self, given: dict[str, Any]) -> Any:
        name = next(name for name in self.artifacts if encoded(name) == given["id"])
        project = _project("attention-bench") | {"internalId": encoded("project")}
        nothing = ("description", "metadata", "historyStep", "commitHash", "updatedAt")
        artifact = {
            "id": given["id"],
            "artifactSequence": {"name": name, "project": project},
            "artifactType": {"name": self.artifacts[name]["type"]},
            **{"versionIndex": 0, "ttlDurationSeconds": -2, "ttlIsInherited": False, "tags": []},
            **{"state": "COMMITTED", "size": 1, "digest": "d", "fileCount": 1, "aliases": []},
            "createdAt": NEW_YEAR,
        }
        return {"artifact": artifact | dict.fromkeys(nothing)}

    def _NotifyScriptableRunAlert(self, given: dict[str, Any]) -> Any:
        self.runs[given["runName"]].alerts.append(given)
        return {"notifyScriptableRunAlert": {"success": True}}

    def _artifact(self, id: str) -> dict[str, Any]:
        return next(kept for name, kept in self.artifacts.items() if encoded(name) == id)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            """HTTP/1.0, so that no connection outlives the server."""

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.requests += 1
                time.sleep(outer.delay)
                answer = None if outer.error else outer.answer(self.path, body)
                self.send_response(outer.error or (200 if answer is not None else 404))
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            do_GET = do_PUT = do_POST

            def log_message(self, *_: object) -> None:
                """Be quiet."""

        return Handler
