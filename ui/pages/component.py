"""The component that all pages share: an empty element, and the script that fills it.

Nothing from the database goes through Gradio's templates: `${...}` inserts HTML as it is, so the pages fetch
JSON and build their elements with `textContent` alone (`static/dom.js`).
"""

from __future__ import annotations

from typing import Any


def page(name: str, static: str) -> Any:
    """Add the page's component to the `gr.Blocks` that is open.

    Args:
        name: Module of `ui/static` that renders the page.
        static: Address of that folder, versioned by its content.
    """
    import gradio as gr

    return gr.HTML(
        html_template='<div class="arena"><main><p class="loading">Loading…</p></main></div>',
        # The whole address: the browser resolves a bare path against the first viewer that this tab had open.
        js_on_load=f"import(location.origin + '{static}/shell.js').then((shell) => shell.mount(element, '{name}'));",
        apply_default_css=False,
        elem_id=f"page-{name}",
    )
