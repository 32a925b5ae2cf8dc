"""The models over HTTP, for programs: /api/models and /api/predict."""
