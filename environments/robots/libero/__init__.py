"""LIBERO, the real benchmark (arXiv 2306.03310), through `hf-libero` 0.1.4: 130 tasks in five suites.

`libero/<suite>/<n>-v1` is task n of `libero_<suite>` in the benchmark's own order. What the public
harnesses share is what `LiberoEnv` does; where they differ, the parameter `convention` says whose way is
followed (`conventions` has the sources):

    |                         | openpi         | openvla        | lerobot                              |
    |-------------------------|----------------|----------------|--------------------------------------|
    | numpy seed              | 7, once a task | 0, once a task | 1000 + episode, before each reset    |
    | resets before episode 0 | 1              | 1              | 2 (a new environment is reset first) |
    | cap, spatial            | 220            | 220            | 280                                  |
    | cap, other suites       | 280 object, 300 goal, 520 ten, 400 ninety (all three)                   |
    | episodes per task       | 50             | 50             | 10                                   |
    | picture for the policy  | 224            | 224            | 256                                  |

The caps count steps after the ten settle steps. All three render 256 x 256, turn the pictures by 180
degrees and give position, axis-angle (not folded) and the two finger joints as the state. Resizing a
picture is the policy's side, and done there.

Modules: `conventions` (the table), `suites` (names, instructions, goals), `loading` (the benchmark's code
and assets), `init_states` (without torch), `world` and `arm` (the simulation), `view` (pictures), `goals`
and `progress` (milestones), `env`, `make` and `tasks`.
"""
