"""Numbers and tables in Markdown, which read as text too."""


def number(value):
    """VALUE with three digits or so."""
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def markdown(lines):
    """LINES of cells, the first of them the head; columns are aligned to the right."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    text = ["| " + " | ".join(cell.rjust(width) for cell, width in zip(line, widths)) + " |"
            for line in lines]
    text.insert(1, "|" + "|".join("-" * (width + 1) + ":" for width in widths) + "|")
    return text
