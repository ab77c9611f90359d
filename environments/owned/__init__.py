"""Games that people own: commercial titles on a person's own desktop, each described by one YAML profile."""
