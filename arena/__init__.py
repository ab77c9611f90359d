"""The evaluation: experiment file -> plan -> episodes -> reflection, judging, diagnosis -> leaderboard."""
