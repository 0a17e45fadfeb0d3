"""What tests read of pages in Markdown."""


def cells(text: str) -> list[list[str]]:
    """The rows of all tables in a text, with their heads and without the rules below these."""
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows if not set("".join(row)) <= set(":- ")]
