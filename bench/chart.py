"""Pictures of measurements, as SVG: lines over logarithmic scales, one or more panels a page."""
import dataclasses
import html
import math

PANEL_WIDTH, PANEL_HEIGHT, PANELS_PER_ROW = 460, 400, 2
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 70, 60  # margins of a panel
CAPTION_HEIGHT = 36
INK, GRID = "#333333", "#dddddd"
COLOURS = ("#1b6ca8", "#b3541e", "#3c8d40", "#7b4ea3", "#8a8a2b")


@dataclasses.dataclass
class Panel:
    """LINES: {label: [(x, y)…]}, x and y above zero. NAME_X turns an x into the text of its tick."""
    title: str
    unit: str
    across: str
    lines: dict
    name_x: callable = str


class Axis:
    """A logarithmic scale from values to places on the page."""

    def __init__(self, low, high, start, end):
        self.low, self.high = math.log10(low), math.log10(high)
        self.start, self.end = start, end

    def place(self, value):
        if self.high == self.low:
            return (self.start + self.end) / 2
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)


def text(x, y, words, anchor="middle", size=12, weight="normal", colour=INK):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
            f'font-weight="{weight}" fill="{colour}">{html.escape(words)}</text>')


def line(x1, y1, x2, y2, colour=GRID):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>')


def size_label(size):
    for unit, power in (("M", 20), ("K", 10)):
        if size > 0 and size % (1 << power) == 0:
            return f"{size >> power}{unit}"
    return f"{size:,}"


def decades(values):
    """Powers of ten from below the least to above the largest."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return [10.0 ** power for power in range(low, max(high, low + 1) + 1)]


def ticks_across(values, count_max=7):
    """At most COUNT_MAX of VALUES, evenly chosen."""
    step = -(-len(values) // count_max)
    return values[::step]


def frame(panel, across, upward, ticks, values_x, left, right):
    """Axes, grid and titles."""
    low, high = upward.start, upward.end
    parts = [text((left + right) / 2, high - 34, panel.title, size=15, weight="bold"),
             text(left, high - 14, panel.unit, "start")]
    for tick in ticks:
        y = upward.place(tick)
        parts += [line(left, y, right, y), text(left - 8, y + 4, f"{tick:g}", "end")]
    for value in ticks_across(values_x):
        x = across.place(value)
        parts += [line(x, high, x, low), text(x, low + 18, panel.name_x(value))]
    return parts + [line(left, low, right, low, INK), line(left, high, left, low, INK),
                    text((left + right) / 2, low + 40, panel.across)]


def legend(panel, left, right, upper, lower):
    """Names of the lines, from the right, at UPPER; those that would reach the unit's place at LOWER."""
    parts, end, y = [], right, upper
    for label, colour in reversed(list(zip(panel.lines, COLOURS))):
        width = 8 * len(label) + 14
        if y == upper and end - width < left + 10 * len(panel.unit):
            end, y = right, lower
        parts.append(text(end, y, label, "end", colour=colour, weight="bold"))
        end -= width
    return parts


def draw(panel, x, y):
    """PANEL with its upper left corner at X, Y."""
    points = [point for row in panel.lines.values() for point in row]
    if not points:
        return []
    values_x = sorted({point[0] for point in points})
    ticks = decades([point[1] for point in points])
    left, right = x + LEFT, x + PANEL_WIDTH - RIGHT
    across = Axis(values_x[0], values_x[-1], left, right)
    upward = Axis(ticks[0], ticks[-1], y + PANEL_HEIGHT - BOTTOM, y + TOP)
    parts = frame(panel, across, upward, ticks, values_x, left, right)
    for row, colour in zip(panel.lines.values(), COLOURS):
        places = [(across.place(a), upward.place(b)) for a, b in row]
        way = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        parts.append(f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in places]
    if len(panel.lines) > 1:
        parts += legend(panel, left, right, upward.end - 14, upward.start + 56)
    return parts


def page(panels, caption):
    """One SVG of all PANELS that hold a point."""
    panels = [panel for panel in panels if any(panel.lines.values())]
    rows = -(-len(panels) // PANELS_PER_ROW)
    width = PANEL_WIDTH * min(max(len(panels), 1), PANELS_PER_ROW)
    height = CAPTION_HEIGHT + PANEL_HEIGHT * rows
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
             f'width="{width}" height="{height}" font-family="sans-serif">',
             f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
             text(width / 2, 26, caption, size=13)]
    for number, panel in enumerate(panels):
        parts += draw(panel, PANEL_WIDTH * (number % PANELS_PER_ROW),
                      CAPTION_HEIGHT + PANEL_HEIGHT * (number // PANELS_PER_ROW))
    return "\n".join(parts + ["</svg>"]) + "\n"


def sizes_svg(rows, caption):
    """ROWS: dictionaries with bytes and, where measured, latency_us and bandwidth_mbps; ascending."""
    def points(key):
        return {key: [(row["bytes"], row[key]) for row in rows if row["bytes"] > 0 and key in row]}

    across = "message size in bytes"
    return page([Panel("Latency, one way", "us", across, points("latency_us"), size_label),
                 Panel("Bandwidth, 64 messages at a time", "MB/s", across,
                       points("bandwidth_mbps"), size_label)], caption)
