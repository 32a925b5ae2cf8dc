"""What programs ask of /api: requests that are answered, and such that are refused."""

from __future__ import annotations

from typing import Any

from tests.characterisation.serving import Visitor

PREDICT = "/api/predict"
KERNELS = {"title": "Graph kernels", "text": "Graph kernels compare molecules by their common substructures."}
BIRDS = {"id": "birds", "title": "", "abstract": "Migratory birds follow rivers and coast lines at night."}
FRENCH = (
    "Cette thèse étudie la reconnaissance automatique des plantes à partir de photographies. Un réseau de "
    "neurones convolutif est entraîné par apprentissage par transfert."
)
JSON_TYPE = {"content-type": "application/json"}


def ask_models(visitor: Visitor) -> None:
    visitor.ask("GET", "/api/models")
    for body in (
        KERNELS,
        KERNELS | {"top_k": 3, "nested": False},
        KERNELS | {"threshold": 0.05, "model": "indexer"},
        {"text": FRENCH, "top_k": 3},
        BIRDS | {"model": "tfidf"},
        BIRDS | {"model": "first", "language": "French", "id": 7},
        {"documents": [BIRDS, {"id": "none", "text": " "}, KERNELS], "model": "tfidf", "top_k": 2},
    ):
        visitor.ask("POST", PREDICT, body)


def ask_wrongly(visitor: Visitor) -> None:
    for path in ("/api", "/api/nothing"):
        visitor.ask("GET", path)
    visitor.ask("GET", PREDICT)
    visitor.ask("POST", "/api/models", {})
    visitor.ask("POST", PREDICT, content=b"{}", headers={"content-type": "text/plain"})
    for content in (b"not JSON", b'{"text": "a", "text": "b"}', b"[]", b'"text"'):
        visitor.ask("POST", PREDICT, content=content, headers=JSON_TYPE)
    visitor.ask("POST", PREDICT, content=b"\xff\xfe{}", headers=JSON_TYPE, shown="not UTF-8")
    wrong: tuple[dict[str, Any], ...] = (
        {},
        {"text": ""},
        {"text": 7},
        KERNELS | {"abstract": "twice"},
        KERNELS | {"model": "nothing"},
        KERNELS | {"model": "/etc/passwd"},
        KERNELS | {"top_k": 0},
        KERNELS | {"top_k": 1001},
        KERNELS | {"top_k": "many"},
        KERNELS | {"threshold": 2},
        KERNELS | {"language": "Klingon"},
        KERNELS | {"nested": 1},
        KERNELS | {"id": 1.5},
        KERNELS | {"colour": "red"},
        KERNELS | {"documents": [KERNELS]},
        {"documents": {}},
        {"documents": [{"text": "a", "model": "tfidf"}]},
        {"documents": ["a text"]},
    )
    for body in wrong:
        visitor.ask("POST", PREDICT, body)
    visitor.ask("POST", PREDICT, {"documents": []})
    visitor.ask("POST", PREDICT, {"documents": [BIRDS] * 101}, shown="101 documents")
    visitor.ask("POST", PREDICT, {"text": "a b " * 62_501}, shown="250,004 characters")
    visitor.ask("POST", PREDICT, {"text": "a" * 2**22}, shown="more than 4 MiB")
    visitor.ask("POST", PREDICT, KERNELS, headers={"origin": "https://elsewhere.example.org"})
