"""What mkdocs does with a page: a link that leaves docs/ leads to the repository, and each cell of
a wide table knows its column, so that a phone shows a row as a card.
"""

import itertools
import posixpath
import re
from typing import Any, Final

REPOSITORY: Final = "https://github.com/haltpoint/haltpoint/blob/main/"
LINK: Final = re.compile(r"(\]\(|src=\")(?!https?:|#|mailto:)([^)\s\"#]+)")
TABLE: Final = re.compile(r"<table>.*?</table>", re.DOTALL)
SHIM: Final = "https://unpkg.com/iframe-worker/shim"


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """The text of a page, with links that the site can follow."""
    folder = posixpath.join("docs", posixpath.dirname(page.file.src_uri))

    def leading(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, link[2]))
        outside = not path.startswith("docs/")
        return f"{link[1]}{REPOSITORY}{path}" if outside else link[0]

    return LINK.sub(leading, markdown)


def on_page_content(html: str, **_: object) -> str:
    """The text of a page, in whose wide tables each cell has the name of its column."""
    return TABLE.sub(lambda found: labelled(found[0]), html)


def labelled(table: str) -> str:
    """A table of three columns or more, with its head in each cell."""
    columns = [re.sub("<.*?>", "", name) for name in re.findall(r"<th>(.*?)</th>", table)]
    if len(columns) < 3:
        return table
    head, body = table.split("<tbody>")
    labels = itertools.cycle(columns)
    return f"{head}<tbody>" + re.sub("<td>", lambda _: f'<td data-label="{next(labels)}">', body)


def on_post_page(output: str, page: Any, **_: object) -> str:
    """The page as it is drawn, with our own help for a search without a server in place of one from
    another host.
    """
    return output.replace(SHIM, "../" * page.file.src_uri.count("/") + "worker.js")


def on_post_template(output: str, **_: object) -> str:
    """The same for the page of an address that leads nowhere."""
    return output.replace(SHIM, "/worker.js")
