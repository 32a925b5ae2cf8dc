"""The description of the addresses under /api, as OpenAPI 3.1, with examples."""

from __future__ import annotations

from typing import Any

import kpdemo
from kpdemo.types import Origin

_TEXT = "Graph kernels compare molecules by their common substructures."
_DOCUMENT: dict[str, Any] = {
    "text": {"type": "string", "description": "The document."},
    "abstract": {"type": "string", "description": "Instead of text."},
    "title": {"type": "string", "description": "Its title; without one, a first line that looks like one."},
    "language": {"type": "string", "description": "A code or an English name; detected by default."},
    "id": {"type": ["string", "integer"], "description": "Returned with the answer."},
}
_PHRASES = {"type": "array", "items": {"type": "string"}}
_OPTIONS: dict[str, Any] = {
    "model": {"type": "string", "description": "A name of /api/models."},
    "top_k": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "How many of each kind."},
    "threshold": {"type": "number", "minimum": 0, "maximum": 1, "description": "The least score."},
    "nested": {
        "type": "boolean",
        "default": True,
        "description": "Whether a present keyphrase may be nested in another. If not, each has the others as "
        "its family.",
    },
    "shortest": {"type": "integer", "minimum": 1, "description": "Least words of a keyphrase."},
    "longest": {"type": "integer", "minimum": 1, "description": "Most words of a keyphrase."},
    "exclude": {**_PHRASES, "description": "No keyphrase contains one of these words or phrases."},
    "candidates": {**_PHRASES, "description": "Phrases of your own to rank, such as a thesaurus."},
    "only_candidates": {
        "type": "boolean",
        "default": True,
        "description": "Whether nothing but candidates is given; otherwise they come first.",
    },
    "seed_keywords": {**_PHRASES, "description": "Words that guide the ranking."},
    "style": {"enum": ["author", "indexer"], "description": "Of English keyphrases."},
    "diversity": {"type": "number", "minimum": 0, "maximum": 1, "default": 0},
    "unsure": {
        "type": "boolean",
        "default": False,
        "description": "Also give absent keyphrases that are wrong in more than four of five cases.",
    },
}
_PRESENT = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "score": {"type": "number"},
        "spans": {"type": "array", "description": "Character offsets in text: start, end."},
        "variants": {**_PHRASES, "description": "Other forms in the text, such as its acronym."},
        "family": {"type": "array", "description": "Keyphrases nested with it, if nested is false."},
        "filler": {"type": "boolean", "description": "Only makes up the model's minimum number."},
    },
}
_ABSENT = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "score": {"type": "number"},
        "kind": {"enum": ["reordered", "mixed", "unseen", "present"]},
        "source": {"enum": [origin.value for origin in Origin]},
        "evidence": {**_PHRASES, "description": "The phrases that support it."},
        "reason": {"type": "string", "description": "How they do, in a sentence."},
    },
}
_PREDICTION = {
    "type": "object",
    "properties": {
        "id": {"type": ["string", "integer"]},
        "language": {"type": "string"},
        "present": {"type": "array", "items": _PRESENT},
        "absent": {"type": "array", "items": _ABSENT},
        "doubtful": {"type": "array", "items": _ABSENT, "description": "Absent ones that are seldom right."},
        "absent_candidates": _PHRASES,
        "passages": {"type": "array", "items": {"type": "object"}},
        "warnings": {**_PHRASES, "description": "What a reader should know."},
        "model": {"type": "string"},
        "device": {"type": "string"},
        "seconds": {"type": "number"},
        "text": {"type": "string"},
        "text_offset": {"type": "integer"},
    },
    "required": ["language", "present", "absent", "warnings", "model", "device", "seconds"],
}
_UNREAD = {
    "type": "object",
    "properties": {"id": _DOCUMENT["id"], "error": {"type": "string", "description": "Why, in a sentence."}},
    "required": ["error"],
    "additionalProperties": False,
    "description": "In place of a document of a list that cannot be read.",
}
_EXAMPLE = {
    "language": "en",
    "present": [{"text": "graph kernels", "score": 0.215362, "spans": [[0, 13]]}],
    "absent": [],
    "warnings": [],
    "model": "default",
    "device": "cpu",
    "seconds": 0.141,
    "text": _TEXT,
    "text_offset": 0,
}
_REFUSALS = {
    "400": "The request is not JSON.",
    "404": "There is no such model.",
    "413": "The request, a text or the list is too long.",
    "415": "The header Content-Type: application/json is missing.",
    "422": "A field is wrong, or the text cannot be read.",
    "503": "The server is busy or the model cannot be loaded; Retry-After says when to ask again.",
}


def openapi_description() -> dict[str, Any]:
    """Of all addresses; a field of a request that is null is as one that is left out."""
    one = {"type": "object", "properties": {**_DOCUMENT, **_OPTIONS}, "additionalProperties": False}
    documents = {"type": "array", "maxItems": 100, "items": {"type": "object", "properties": _DOCUMENT}}
    many = {
        "type": "object",
        "properties": {"documents": documents, **_OPTIONS},
        "required": ["documents"],
        "additionalProperties": False,
    }
    error = {"type": "object", "properties": {"error": {"type": "string"}}}
    examples = {
        "one": {"value": {"text": _TEXT, "top_k": 3}},
        "many": {"value": {"documents": [{"id": "1", "text": _TEXT}], "nested": False, "longest": 3}},
    }
    prediction = {"$ref": "#/components/schemas/Prediction"}
    each = {"oneOf": [prediction, {"$ref": "#/components/schemas/Unread"}]}
    predictions = {
        "type": "object",
        "properties": {"predictions": {"type": "array", "items": each}},
        "required": ["predictions"],
        "additionalProperties": False,
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Keyphrases", "version": kpdemo.__version__},
        "paths": {
            "/api/predict": {
                "post": {
                    "summary": "The keyphrases of one document, or of each of a list",
                    "requestBody": {
                        "required": True,
                        "content": {
                            "application/json": {"schema": {"oneOf": [one, many]}, "examples": examples}
                        },
                    },
                    "responses": {
                        "200": {
                            "description": "What `predict --json` prints; of a list, under predictions.",
                            "content": {
                                "application/json": {
                                    "schema": {"oneOf": [prediction, predictions]},
                                    "example": _EXAMPLE,
                                }
                            },
                        },
                        **{
                            status: {
                                "description": told,
                                "content": {"application/json": {"schema": error}},
                            }
                            for status, told in _REFUSALS.items()
                        },
                    },
                }
            },
            "/api/models": {
                "get": {
                    "summary": "The models that a request may name",
                    "responses": {"200": {"description": "models: name, description, default"}},
                }
            },
        },
        "components": {"schemas": {"Prediction": _PREDICTION, "Unread": _UNREAD}},
    }
