"""One file a revision, oldest first; a released revision is never edited."""
