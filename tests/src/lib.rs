//! Tests that concern the workspace as a whole: see `tests/`.
