//! MPEG transport streams in and out of moq: exact import, constant-rate export, a checker.
