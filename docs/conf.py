"""Settings of the documentation site: `make docs` builds it into build/docs, without network.

Sphinx, because half of what it shows is no Python code but data: entries of operators are written from their records
(docs/extensions), which takes a program between the source and the pages; mkdocstrings reads source files alone.
autodoc imports the packages, so that what is made at run time (registries, aliases) is documented as users see it.
MyST, because pages are Markdown on GitHub too; MyST-NB runs the tutorials, percent files that are also plain programs.
Furo, because it comes whole: no font, script or style is fetched from elsewhere.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
os.environ.setdefault("PYTHONPATH", str(HERE.parent))  # of the processes that run tutorials
os.environ.setdefault("MXNET_OFFLINE", "1")
os.environ["MXNET_HOME"] = "~/.mxnet"  # defaults are shown as values, and this one is to be nobody's in particular

project = "Gluon on Triton"
author = "the authors"
copyright = "the authors"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "docs.extensions.api_reference",
    "docs.extensions.model_list",
    "docs.extensions.notebooks",
]
exclude_patterns = ["extensions", "conf.py", "README.md"]
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb", ".py": "myst-nb"}
nb_custom_formats = {".py": "docs.extensions.notebooks.read"}
nb_execution_mode = os.environ.get("DOCS_EXECUTE", "cache")
nb_execution_cache_path = str(HERE.parent / "build" / "tutorials")
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_in_temp = True
nb_merge_streams = True
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]  # nb_custom_formats holds a function's name, which is not part of the cache

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_inherit_docstrings = False
add_module_names = False
python_use_unqualified_type_names = True
toc_object_entries = False

html_theme = "furo"
html_title = "Gluon on Triton"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["models.js"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
