"""`make release`: looks at what must be true of a version before anyone gets it, builds its two
distributions, and says what to do next. It publishes nothing.

All that is wrong is told at once. What is wrong with the links of the pages is looked for in the
sdist: whoever unpacks it has no other files. The page of an index is README with absolute links
(pyproject.toml), so each of them has to name a file of the sdist.
"""

import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

TARGETS: Final = ("wheel", "sdist")
_LINK: Final = re.compile(r"\]\((?!https?:|mailto:|#)([^)\s#]+)")
_SECTION: Final = re.compile(r"^## \[(.+?)\](.*)$", re.MULTILINE)
_NEXT: Final = """
Nothing is published. Next:

    git tag --annotate v{version} --message "Haltpoint {version}" && git push origin v{version}
    python -m pip install twine && python -m twine upload {files}

Then README.md and docs/start.md may say `pip install haltpoint`: no page says so before.
"""


@dataclass(frozen=True, slots=True)
class Release:
    """What is known of a version. `declared` is pyproject.toml's, `said` what the command says."""

    declared: str
    said: str
    changelog: str
    tags: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    """Files that are not as they are committed."""
    dead_links: tuple[str, ...] = ()

    def refusals(self) -> Iterator[str]:
        """Why it may not be released: what is wrong, and what to do."""
        if self.said != self.declared:
            what = f"pyproject.toml says {self.declared}, haltpoint --version says {self.said}"
            yield f"{what}. Run: make environment"
        yield from self._of_changelog()
        if f"v{self.declared}" in self.tags:
            what = f"the tag v{self.declared} is there: this version was released"
            yield f"{what}. Write the next version into pyproject.toml"
        if self.changes:
            yield f"not committed: {', '.join(self.changes)}. Commit or remove it"
        for link in self.dead_links:
            yield f"the link {link} leads to no file of the sdist. Correct the page"

    def _of_changelog(self) -> Iterator[str]:
        headings = list(_SECTION.finditer(self.changelog))
        versions = [heading for heading in headings if heading[1] != "Unreleased"]
        top = versions[0] if versions else None
        if top is None or top[1] != self.declared:
            has = f"begins with {top[1]}" if top else "has no version"
            yield (
                f"CHANGELOG.md {has}, pyproject.toml says {self.declared}. "
                f"Write a section ## [{self.declared}] - and the date"
            )
            return
        if not re.fullmatch(r" - \d{4}-\d\d-\d\d", top[2]):
            yield f"the section {self.declared} of CHANGELOG.md has no date. Write - YYYY-MM-DD"
        if self.changelog[: top.start()].count("\n- "):
            what = "CHANGELOG.md has lines under Unreleased"
            yield f"{what}. Move them into the section {self.declared}"


def look_at(root: Path, sdist: Path) -> Release:
    """What is known of the version in a checkout."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return Release(
        declared=project["version"],
        said=_told(root, sys.executable, "-m", "haltpoint", "--version"),
        changelog=(root / "CHANGELOG.md").read_text(),
        tags=tuple(_told(root, "git", "tag").split()),
        changes=tuple(_told(root, "git", "status", "--porcelain").splitlines()),
        dead_links=tuple(dead_links(sdist)),
    )


def dead_links(sdist: Path) -> Iterator[str]:
    """The links of its README and its docs that lead to no file in it: `page: target`."""
    with tarfile.open(sdist) as opened:
        files = {name.partition("/")[2]: name for name in opened.getnames()}
        pages = [
            name
            for name in files
            if name == "README.md" or (name.startswith("docs/") and name.endswith(".md"))
        ]
        folders = {str(folder) for name in files for folder in PurePosixPath(name).parents}
        for page in pages:
            member = opened.extractfile(files[page])
            text = member.read().decode() if member else ""
            for target in _LINK.findall(text):
                if _resolved(page, target) not in files.keys() | folders:
                    yield f"{page}: {target}"


def _resolved(page: str, target: str) -> str:
    """The path to which a link of a page leads."""
    parts: list[str] = []
    for part in (PurePosixPath(page).parent / target).parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def build(root: Path, folder: Path) -> list[Path]:
    """The distributions, in this folder, which has nothing else."""
    for target in TARGETS:
        command = [sys.executable, "-m", "hatchling", "build", "--target", target]
        subprocess.run([*command, "--directory", folder], cwd=root, check=True, capture_output=True)
    return sorted(folder.iterdir())


def main(root: Path) -> int:
    """Release the version of a checkout, or say why not; the exit code."""
    dist = root / "dist"
    with tempfile.TemporaryDirectory() as folder:
        built = build(root, Path(folder))
        (sdist,) = [file for file in built if file.name.endswith(".tar.gz")]
        release = look_at(root, sdist)
        refusals = list(release.refusals())
        if refusals:
            print("This version may not be released:", *refusals, sep="\n  - ", file=sys.stderr)
            return 1
        dist.mkdir(exist_ok=True)
        for old in dist.iterdir():
            old.unlink()
        for file in built:
            (dist / file.name).write_bytes(file.read_bytes())
    files = [f"dist/{file.name}" for file in built]
    print(*files, sep="\n")
    print(_NEXT.format(version=release.declared, files=" ".join(files)), end="")
    return 0


def _told(root: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main(Path.cwd()))
