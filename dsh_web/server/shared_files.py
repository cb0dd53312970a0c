"""The file that a run shares when it may: its answer as a Markdown document."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from dsh_web.server.agent_request import AgentRequest
from dsh_web.server.corpus import Document
from dsh_web.server.stored_runs import SharedFile

_FILENAME = "answer.md"


def wants_file(request: AgentRequest) -> bool:
    """True if the request lists what makes files: the sandbox, or a skill for office documents."""
    if request.tool_choice.mode == "none" or request.max_tool_calls == 0:
        return False
    skills = request.get("skills", [])
    has_office = any(
        skill.get("type") == "builtin" and str(skill.get("name")).partition("/")[0] == "office"
        for skill in skills
    )
    return has_office or "sandbox" in request.tools.kinds


def answer_file(question: str, text: str, cited: Mapping[int, Document]) -> SharedFile:
    """Return an answer and the sources it may cite as a Markdown file."""
    sources = "".join(f"- {id_}: {d.title}, <{d.url}>\n" for id_, d in cited.items())
    heading = " ".join(question.split()) or "Answer"
    content = f"# {heading}\n\n{text}\n" + (f"\n## Sources\n\n{sources}" if sources else "")
    return SharedFile(f"file_{uuid.uuid4()}", _FILENAME, content.encode("utf-8", "replace"))


def share_item(file: SharedFile) -> dict[str, Any]:
    """Return the output item that announces a file."""
    return {
        "type": "share_file",
        "call_id": f"call_{uuid.uuid4().hex[:24]}",
        "file_id": file.id,
        "filename": file.filename,
        "size_bytes": len(file.content),
    }
