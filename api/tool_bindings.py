"""The C bindings of the tools interface (MPI_T, MPI-5.0 §15.3). They raise no errors: each makes a
ToolCall, which locks, and returns a code. Arguments of calls::t_x are those of MPI_T_X in the same
order, converted:

    handle                      object&; that is made: a reference to its place; that is freed:
                                HandleInOut<T>
    one handle or all           PerformanceHandles
    result                      int&; where null means that nobody wants it: OptionalOut
    string                      std::string_view; a result and its length: ToolText
    array                       std::span
    buffers                     as they are
"""

import re

import kinds
from text import wrap


def is_tool_function(function):
    return function.base.startswith("MPI_T_")


class ToolBinding:
    def __init__(self, function):
        self.function = function
        self.checks = []
        self.types = []
        self.names = []
        self.values = []
        self.optional = re.fullmatch(kinds.TOOL_RESULTS_OPTIONAL, function.base) is not None
        self.without = next((kinds.TOOL_WITHOUT[p.kind] for p in function.parameters
                             if p.direction == "in" and p.kind in kinds.TOOL_WITHOUT), None)
        for index, p in enumerate(function.parameters):
            following = function.parameters[index + 1:index + 2]
            self._parameter(p, following[0] if following else None)

    def _give(self, cpp_type, name, value):
        self.types.append(cpp_type)
        self.names.append(name)
        self.values.append(value)

    def _parameter(self, p, following):
        if p.kind == "STRING_LENGTH":
            return None  # part of the string before it
        if p.kind == "STRING":
            return self._string(p, following)
        if p.kind in kinds.TOOL_HANDLES:
            return self._handle(p, kinds.TOOL_HANDLES[p.kind])
        if p.is_array:
            return self._array(p)
        if p.kind == "BUFFER":
            self.checks.append(f"call.output({p.name});")
            return self._give(p.c_type, p.name, p.name)
        if p.direction != "in":
            return self._result(p)
        if p.kind == "ARRAY_LENGTH":
            return None  # part of the array after it
        return self._give(p.c_type, p.name, p.name)

    def _string(self, p, following):
        if p.direction == "in":
            self.checks.append(f"call.output({p.name});")
            self._give("std::string_view", p.name, p.name)
        else:
            self._give("ToolText", p.name, f"{{{p.name}, {following.name}}}")

    def _handle(self, p, cpp):
        name = p.name
        if p.direction == "out":
            return self._result(p)
        of_session = ", pe_session_object" if p.kind == "PVAR" else ""
        if p.direction == "inout":
            self.checks.append(f"call.live<{cpp}>({name}{of_session});")
            return self._give(f"HandleInOut<{cpp}>", name, f"{{call.runtime(), {name}}}")
        if re.fullmatch(kinds.TOOL_ALL_HANDLES, self.function.base) and p.kind == "PVAR":
            self.checks.append(f"const auto {name}s = call.handles({name}{of_session});")
            return self._give("const PerformanceHandles&", f"{name}s", f"{name}s")
        self.checks.append(f"auto* const {name}_object = call.object<{cpp}>({name}{of_session});")
        return self._give(f"{cpp}&", name, f"*{name}_object")

    def _array(self, p):
        self.checks.append(f"call.array({p.name}, {p.length});")
        self._give(f"std::span<{p.c_type}>", p.name, f"to_span({p.name}, {p.length})")

    def _result(self, p):
        value_type = p.c_type[:-1]
        if self.optional:
            return self._give(f"OptionalOut<{value_type}>", p.name,
                              f"OptionalOut<{value_type}>({p.name})")
        self.checks.append(f"call.output({p.name});")
        return self._give(f"{value_type}&", p.name, f"*{p.name}")

    def declaration(self):
        """None if there is no call to make."""
        if self.without:
            return None
        parameters = ["Tools& tools"] + [f"{t} {n}" for t, n in zip(self.types, self.names)]
        return wrap(f"Result<void> {self._call_name()}({', '.join(parameters)});")

    def _call_name(self):
        return self.function.base[len("MPI_"):].lower()

    def _signature(self, names=None):
        prototype = self.function.prototype(names=names)
        return wrap('extern "C" ' + prototype.replace(" MPI_", " PMPI_", 1) + " {")

    def definition(self, done):
        if not done:
            rows = [self._signature(set()), "  return MPI_T_ERR_NOT_SUPPORTED;"]
        elif self.without:
            rows = [self._signature(set()), "  ToolCall call;",
                    f"  return call.refuse(ErrorClass::{self.without});"]
        else:
            always = re.fullmatch(kinds.TOOL_ALWAYS_CALLABLE, self.function.base)
            rows = [self._signature(),
                    f"  ToolCall call{'(Needs::nothing)' if always else ''};"]
            rows += [wrap("  " + row) for row in self.checks]
            rows.append("  if (call.failed()) return call.code();")
            values = ", ".join(["call.tools()", *self.values])
            rows.append(wrap(f"  return call.finish(calls::{self._call_name()}({values}));"))
        return "\n".join(rows) + f"\n}}\nHAWSER_WEAK_ALIAS({self.function.name});\n"
