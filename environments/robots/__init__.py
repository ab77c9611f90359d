"""Robot arms on a table: robosuite worlds, exact snapshots, experts, skills and faults."""
