"""Breaking of generated lines."""

WIDTH = 100


def wrap(line, indent=4):
    """LINE, broken after commas where it is longer than the width."""
    if len(line) <= WIDTH:
        return line
    lead = len(line) - len(line.lstrip())
    rows, row = [], ""
    for piece in line.split(", "):
        piece = piece if not row else ", " + piece
        if row and len(row) + len(piece) + 1 > WIDTH:
            rows.append(row + ",")
            row = " " * (lead + indent) + piece[2:]
        else:
            row += piece
    rows.append(row)
    return "\n".join(rows)
