"""Reads a JSON schema and values, and writes the violations of each value. Without a schema the values are OpenAPI documents."""

import json
import sys

from jsonschema_rs import Draft202012Validator
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

schema, values = json.load(sys.stdin.buffer)
validator = Draft202012Validator(schema) if schema else OPENAPI_31_VALIDATOR
json.dump([[str(error) for error in validator.iter_errors(value)] for value in values], sys.stdout)
