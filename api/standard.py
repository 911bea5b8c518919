"""The functions and constants of the MPI-5.0 standard ABI, read from their pinned sources.

Signatures come from the package pympistandard; the list of names and the constants from the two
files beside this one. Nothing here knows how C++ looks.
"""

import csv
import pathlib
from dataclasses import dataclass, replace

HERE = pathlib.Path(__file__).resolve().parent

# Deprecated functions (MPI-5.0, chapter 16) and the version that deprecated them.
DEPRECATED = {
    "MPI_Attr_delete": "2.0",
    "MPI_Attr_get": "2.0",
    "MPI_Attr_put": "2.0",
    "MPI_Keyval_create": "2.0",
    "MPI_Keyval_free": "2.0",
    "MPI_Info_get": "4.0",
    "MPI_Info_get_valuelen": "4.0",
    "MPI_Get_elements_x": "4.1",
    "MPI_Status_set_elements_x": "4.1",
    "MPI_Type_get_extent_x": "4.1",
    "MPI_Type_get_true_extent_x": "4.1",
    "MPI_Type_size_x": "4.1",
}


@dataclass(frozen=True)
class Parameter:
    name: str
    kind: str
    direction: str  # in, out, inout
    c_type: str  # without name and brackets, as "const void*"
    brackets: str  # "", "[]" or "[][3]"
    length: object  # None: a scalar; else the length that the standard gives ("count", "*", …)
    root_only: bool
    large_only: bool

    @property
    def is_array(self):
        return self.brackets != ""

    @property
    def is_pointer(self):
        return self.is_array or self.c_type.endswith("*")

    def declare(self):
        if self.kind == "VARARGS":
            return "..."
        return f"{self.c_type} {self.name}{self.brackets}"


@dataclass(frozen=True)
class Function:
    name: str  # with MPI_ and, for the large-count variant, _c
    return_type: str
    return_kind: str
    parameters: tuple
    large: bool  # the _c variant
    has_large: bool  # a _c variant exists

    @property
    def base(self):
        """The name that both variants share."""
        return self.name[:-2] if self.large else self.name

    @property
    def returns_error(self):
        return self.return_kind == "ERROR_CODE"

    def prototype(self, prefix="", names=None):
        """The C declaration; parameters that are not in NAMES (if given) stay unnamed."""

        def one(parameter):
            if names is None or parameter.name in names or parameter.kind == "VARARGS":
                return parameter.declare()
            if parameter.brackets == "[][3]":
                return f"{parameter.c_type}[][3]"
            return f"{parameter.c_type}{parameter.brackets}"

        parameters = ", ".join(one(p) for p in self.parameters) or "void"
        return f"{self.return_type} {prefix}{self.name}({parameters})"


@dataclass(frozen=True)
class Constant:
    name: str
    c_type: str  # "alias": the value is another name
    value: str


def read_names():
    return (HERE / "functions.txt").read_text().split()


def read_constants():
    with open(HERE / "constants.tsv", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [Constant(row["name"], row["c_type"], row["value"]) for row in rows]


def _parameter(source):
    raw = source._parseset
    if raw["kind"] == "VARARGS":
        return Parameter(raw["name"], "VARARGS", "in", "...", "", None, False, False)
    const = "const " if source.constant else ""
    # MPI_Info_create_env: an argument list that is an array has one star (of three) less to show.
    if raw["kind"] == "ARGUMENT_LIST" and source.array:
        return Parameter(raw["name"], raw["kind"], "in", "char*", "[]", "argc", False, False)
    return Parameter(
        name=raw["name"],
        kind=raw["kind"],
        direction=raw["param_direction"],
        c_type=const + source.type,
        brackets=source.array,
        length=raw["length"],
        root_only=raw["root_only"],
        large_only=raw["large_only"],
    )


def _function(symbol, large, has_large):
    return Function(
        name=symbol.name,
        return_type=symbol.return_type,
        return_kind=symbol._parseset["return_kind"],
        parameters=tuple(_parameter(p) for p in symbol.parameters),
        large=large,
        has_large=has_large,
    )


def _load_pympistandard():
    import pympistandard

    pympistandard.use_api_version(1)
    functions = {}
    for procedure in pympistandard.PROCEDURES.values():
        symbol = procedure.express.iso_c
        if not symbol:
            continue
        # The package lacks the _c forms of these two.
        if symbol.name in ("MPI_Psend_init", "MPI_Precv_init"):
            functions.update(_with_large_partitioned(symbol))
            continue
        has_large = procedure.has_embiggenment()
        functions[symbol.name] = _function(symbol, False, has_large)
        if has_large:
            large = procedure.express.embiggen.iso_c
            functions[large.name] = _function(large, True, True)
    return functions


def _with_large_partitioned(symbol):
    """Their counts are MPI_Count in both forms, so that the two differ in name only."""
    small = _function(symbol, False, True)
    large = replace(small, name=small.name + "_c", large=True)
    return {small.name: small, large.name: large}


def read_functions():
    """The functions of functions.txt, in its order."""
    known = _load_pympistandard()
    names = read_names()
    missing = [name for name in names if name not in known]
    if missing:
        raise SystemExit(f"pympistandard has no signature for {', '.join(missing)}")
    return [known[name] for name in names]
