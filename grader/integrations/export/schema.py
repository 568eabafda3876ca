"""The JSON Schemas in docs/schema/, made from the models.

`python -m grader.integrations.export.schema` writes them.
"""

import json

from pydantic import BaseModel

from grader.base.places import ROOT
from grader.integrations.export.json_file import ScoresDocument
from grader.results.record import SubmissionResult

FOLDER = ROOT / "docs" / "schema"
MODELS: dict[str, type[BaseModel]] = {
    "scores.schema.json": ScoresDocument,
    "record.schema.json": SubmissionResult,
}


def schema_text(model: type[BaseModel]) -> str:
    """The schema of what is written, as it stands in the file."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    schema |= model.model_json_schema(mode="serialization")
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the schemas."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, model in MODELS.items():
        (FOLDER / name).write_text(schema_text(model), encoding="utf-8")


if __name__ == "__main__":
    main()
