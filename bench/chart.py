"""The picture of run.py: latency and bandwidth over message size, as SVG."""
import html
import math

WIDTH, HEIGHT = 920, 400
PANEL_TOP, PANEL_BOTTOM = 70, 340
INK, GRID = "#333333", "#dddddd"


class Axis:
    """A logarithmic scale from values to places on the page."""

    def __init__(self, low, high, start, end):
        self.low, self.high = math.log10(low), math.log10(high)
        self.start, self.end = start, end

    def place(self, value):
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)


def text(x, y, words, anchor="middle", size=12, weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
            f'font-weight="{weight}" fill="{INK}">{html.escape(words)}</text>')


def line(x1, y1, x2, y2, colour=GRID):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>')


def size_label(size):
    for unit, power in (("M", 20), ("K", 10)):
        if size >= 1 << power:
            return f"{size >> power}{unit}"
    return str(size)


def decades(values):
    """Powers of ten from below the least to above the largest."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return [10.0 ** power for power in range(low, max(high, low + 1) + 1)]


def panel(points, title, unit, left, right, colour):
    """POINTS: (bytes, value). One plot between LEFT and RIGHT."""
    ticks = decades([value for _, value in points])
    across = Axis(points[0][0], points[-1][0], left, right)
    upward = Axis(ticks[0], ticks[-1], PANEL_BOTTOM, PANEL_TOP)
    parts = [text((left + right) / 2, PANEL_TOP - 16, title, size=15, weight="bold")]
    for tick in ticks:
        y = upward.place(tick)
        parts += [line(left, y, right, y), text(left - 8, y + 4, f"{tick:g}", "end")]
    for size in (1 << power for power in range(0, 23, 4)):
        if points[0][0] <= size <= points[-1][0]:
            x = across.place(size)
            parts += [line(x, PANEL_TOP, x, PANEL_BOTTOM),
                      text(x, PANEL_BOTTOM + 18, size_label(size))]
    parts += [line(left, PANEL_BOTTOM, right, PANEL_BOTTOM, INK),
              line(left, PANEL_TOP, left, PANEL_BOTTOM, INK),
              text((left + right) / 2, PANEL_BOTTOM + 38, "message size in bytes"),
              text(left, PANEL_TOP - 16, unit, "start")]
    places = [(across.place(size), upward.place(value)) for size, value in points]
    way = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts.append(f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="2"/>')
    parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
    return parts


def sizes_svg(rows, caption):
    """ROWS: dictionaries with bytes and, where measured, latency_us and bandwidth_mbps; ascending."""
    def points(key):
        return [(row["bytes"], row[key]) for row in rows if row["bytes"] > 0 and key in row]

    latency, bandwidth = points("latency_us"), points("bandwidth_mbps")
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
             f'width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
             text(WIDTH / 2, 26, caption, size=13)]
    if latency:
        parts += panel(latency, "Latency, one way", "us", 70, 440, "#1b6ca8")
    if bandwidth:
        parts += panel(bandwidth, "Bandwidth, 64 messages at a time", "MB/s", 530, 900, "#b3541e")
    return "\n".join(parts + ["</svg>"]) + "\n"
