"""What a Hub with one small data set answers over HTTP."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

COMMIT = "160d4af1d650b602d14cddc8df0baf07a0198643"
Answer = tuple[int, dict[str, str], bytes]


def hub_of(repository: str, files: dict[str, bytes], commit: str = COMMIT) -> Callable[..., Answer]:
    """What a Hub with one data set answers."""

    def answer(path: str) -> Answer:
        api, resolve = f"/api/datasets/{repository}", f"/datasets/{repository}/resolve/"
        if path == api or path.startswith(f"{api}/revision/"):
            info = {
                "id": repository,
                "sha": commit,
                "siblings": [{"rfilename": name} for name in files],
                "private": False,
                "tags": [],
                "downloads": 0,
            }
            return 200, {"Content-Type": "application/json"}, json.dumps(info).encode()
        if path.startswith(f"{api}/tree/"):
            tree = [
                {
                    "type": "file",
                    "path": name,
                    "size": len(data),
                    "oid": hashlib.sha1(data).hexdigest(),
                }
                for name, data in files.items()
            ]
            return 200, {"Content-Type": "application/json"}, json.dumps(tree).encode()
        name = path.removeprefix(resolve).partition("/")[2]
        if path.startswith(resolve) and name in files:
            headers = {
                "ETag": f'"{hashlib.sha1(files[name]).hexdigest()}"',
                "X-Repo-Commit": commit,
            }
            return 200, headers, files[name]
        code = "EntryNotFound" if path.startswith(resolve) else "RepoNotFound"
        return 404, {"X-Error-Code": code, "X-Repo-Commit": commit}, b""

    return answer


def jsonl(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()
