"""The tabletop suite: four families of tasks as in LIBERO, built from robosuite's objects and a few of ours."""
