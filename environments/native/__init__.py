"""Real installed programs as tasks: each on a private display, stopped between its turns, played through the GUI."""
