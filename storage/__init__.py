"""Memory: SQL rows, artifacts by content, video. This package imports no other room."""
