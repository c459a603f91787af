"""How Sphinx makes the site, from the sources that `generate/site.py` prepares: `make docs`."""

import inspect
import pickle
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import roles
from generate.tables import with_labels
from sphinx.application import ENV_PICKLE_FILENAME, Sphinx

project = "multicube"
author = "The multicube authors"
copyright = "the multicube authors"
release = version = version_of("multicube")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["data/**", "extra/**"]
root_doc = "index"
language = "en"
highlight_language = "none"  # indented blocks are commands and what they print

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_default_options = {"exclude-members": "description, parameters_type"}
autodoc_typehints = "none"  # types are in the docstrings
default_role = "py:obj"  # a name in single quotes is code, and a link where it is documented
suppress_warnings = ["ref.python"]  # ... the first one, if several objects have this name
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_custom_sections = [("Members", "params_style")]
toc_object_entries_show_parents = "hide"

# From npm, beside the pages; without npm, from the network (see the Makefile and generate/site.py).
if (Path(__file__).parent / "_static" / "mathjax").exists():
    mathjax_path = "mathjax/tex-mml-chtml.js"

copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True

html_theme = "pydata_sphinx_theme"
html_title = "multicube"
html_static_path = ["_static"]
html_favicon = _ICON = "_static/icon.svg"
html_css_files = ["multicube.css"]
html_extra_path = ["extra"]
html_context = {"default_mode": "auto"}
html_copy_source = False
html_use_index = False  # no page links it: the search knows its words
html_show_sourcelink = False
html_sidebars = {"index": []}
html_theme_options = {
    "header_links_before_dropdown": 8,
    "navigation_depth": 2,
    "show_nav_level": 1,
    "show_prev_next": True,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "logo": {"text": "multicube", "image_light": _ICON, "image_dark": _ICON},
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def _signature(
    app: Sphinx, what: str, name: str, obj: type, options: object, signature: str, returned: str
) -> tuple[str, str] | None:
    """The arguments of a component's constructor, in the place of those of Amaranth's `__new__`."""
    if what != "class" or "src_loc_at" not in (signature or ""):
        return None
    _self, *others = inspect.signature(obj.__init__).parameters.values()
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in others]
    return str(inspect.Signature(plain)), returned


def _bases(app: Sphinx, name: str, obj: type, options: object, bases: list[type]) -> None:
    """In the place of a base that is private, its own bases."""
    while private := [base for base in bases if base.__name__.startswith("_")]:
        at = bases.index(private[0])
        bases[at : at + 1] = private[0].__bases__


def _tables(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """Make tables such that they can be read on a narrow screen."""
    if "body" in context:
        context["body"] = with_labels(context["body"])


def _keep_index(app: Sphinx, exception: Exception | None) -> None:
    """Store the environment again: Sphinx does so before it indexes the pages, and the search of
    the next build would have no entries (`{index}`) of the pages that have not changed."""
    if exception is None:
        with (Path(app.doctreedir) / ENV_PICKLE_FILENAME).open("wb") as file:
            pickle.dump(app.env, file, pickle.HIGHEST_PROTOCOL)


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    roles.register_generic_role("py", nodes.literal)  # in docstrings that are Amaranth's
    app.connect("autodoc-process-signature", _signature)
    app.connect("autodoc-process-bases", _bases)
    app.connect("html-page-context", _tables)
    app.connect("build-finished", _keep_index)
