"""Tests of api/: what the generator reads and what it decides."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "api"))

import bindings  # noqa: E402
import chapters  # noqa: E402
import coverage  # noqa: E402
import generate  # noqa: E402
import header  # noqa: E402
import standard  # noqa: E402
import text  # noqa: E402

FUNCTIONS = {f.name: f for f in standard.read_functions()}


def body(name):
    return bindings.make_binding(FUNCTIONS[name]).definition(True)


def declaration(name):
    return " ".join(bindings.make_binding(FUNCTIONS[name]).declaration().split())


class Standard(unittest.TestCase):
    def test_all_functions_of_the_list_are_known(self):
        self.assertEqual(list(FUNCTIONS), standard.read_names())
        self.assertEqual(len(FUNCTIONS), 664)

    def test_large_count_variants_widen_counts(self):
        self.assertIn("int count,", FUNCTIONS["MPI_Send"].prototype())
        self.assertIn("MPI_Count count,", FUNCTIONS["MPI_Send_c"].prototype())
        self.assertEqual(FUNCTIONS["MPI_Send_c"].base, "MPI_Send")

    def test_partitioned_functions_have_both_names(self):
        for name in ("MPI_Psend_init", "MPI_Precv_init"):
            small, large = FUNCTIONS[name], FUNCTIONS[name + "_c"]
            self.assertEqual(small.prototype().replace(name, ""),
                             large.prototype().replace(name + "_c", ""))
            self.assertIn("MPI_Count count", small.prototype())

    def test_every_function_has_a_chapter(self):
        of = {name: chapters.chapter_of(f) for name, f in FUNCTIONS.items()}
        self.assertEqual(of["MPI_Sendrecv_replace"], "point_to_point")
        self.assertEqual(of["MPI_Get"], "rma")
        self.assertEqual(of["MPI_Get_count"], "external")
        self.assertEqual(of["MPI_Comm_create_keyval"], "attributes")
        self.assertEqual(of["MPI_Comm_set_errhandler"], "errhandlers")


class Bindings(unittest.TestCase):
    def test_both_widths_make_the_same_call(self):
        for name in ("MPI_Send", "MPI_Alltoallv", "MPI_Pack", "MPI_Get_count", "MPI_Type_vector"):
            self.assertEqual(declaration(name), declaration(name + "_c"))

    def test_types_know_which_width_made_them(self):
        self.assertIn("*oldtype_object, {call.runtime(), newtype}, true)",
                      " ".join(body("MPI_Type_contiguous_c").split()))

    def test_ranks_and_tags(self):
        send, receive = body("MPI_Send"), body("MPI_Recv")
        self.assertIn('call.destination(dest, comm_object, "dest")', send)
        self.assertIn('call.send_tag(tag, "tag")', send)
        self.assertIn('call.source(source, comm_object, "source")', receive)
        self.assertIn('call.receive_tag(tag, "tag")', receive)

    def test_no_wildcards_in_partitioned_receives(self):
        self.assertIn("call.destination(source", body("MPI_Precv_init"))
        self.assertIn("call.send_tag(tag", body("MPI_Precv_init"))

    def test_arguments_of_the_root_are_checked_at_the_root_only(self):
        gather = body("MPI_Gather")
        self.assertIn("has_recv ? call.committed(recvtype", gather)
        self.assertIn("if (has_recv) call.count(recvcount", gather)
        self.assertIn("const bool has_recv = call.is_root(root, comm_object)", gather)
        self.assertIn("const bool has_send = call.is_root(root, comm_object)", body("MPI_Scatter"))
        self.assertIn("if (at_root) call.buffer(recvbuf", body("MPI_Reduce"))

    def test_in_place_makes_the_send_side_insignificant(self):
        self.assertIn("has_send ? call.committed(sendtype", body("MPI_Iallgather"))

    def test_some_functions_are_always_callable(self):
        self.assertIn("Needs::nothing", body("MPI_Info_create"))
        self.assertNotIn("Needs::nothing", body("MPI_Comm_rank"))

    def test_missing_functions_check_nothing(self):
        missing = bindings.make_binding(FUNCTIONS["MPI_Cart_rank"]).definition(False)
        self.assertIn("return call.not_built();", missing)
        self.assertNotIn("call.comm(", missing)

    def test_handles_and_integers_convert_without_errors(self):
        self.assertIn("return handle_to_int<core::Datatype>(datatype);", body("MPI_Type_toint"))
        self.assertIn("return handle_from_int<core::Comm>(comm);", body("MPI_Comm_fromint"))

    def test_functions_for_tools_raise_nothing(self):
        for name, function in FUNCTIONS.items():
            if name.startswith("MPI_T_"):
                self.assertRegex(body(name), r"ToolCall call(\(Needs::nothing\))?;")
                self.assertNotIn(" Call call(", body(name))

    def test_functions_for_tools_take_null_where_nothing_is_wanted(self):
        self.assertIn("OptionalOut<int> scope", declaration("MPI_T_cvar_get_info"))
        self.assertIn("ToolText name, OptionalOut<int> verbosity",
                      declaration("MPI_T_cvar_get_info"))
        self.assertIn("call.output(num_cvar);", body("MPI_T_cvar_get_num"))

    def test_handles_for_tools_belong_to_their_session(self):
        self.assertIn("call.object<tool::PerformanceHandle>(handle, pe_session_object);",
                      body("MPI_T_pvar_read"))
        self.assertIn("call.handles(handle, pe_session_object);", body("MPI_T_pvar_start"))

    def test_without_events_their_functions_refuse(self):
        self.assertIn("call.refuse(ErrorClass::t_invalid_index)", body("MPI_T_source_get_info"))
        self.assertIn("call.refuse(ErrorClass::t_invalid_handle)", body("MPI_T_event_copy"))
        self.assertIsNone(bindings.make_binding(FUNCTIONS["MPI_T_event_copy"]).declaration())

    def test_every_binding_can_be_rendered(self):
        for function in FUNCTIONS.values():
            self.assertIn(f"HAWSER_WEAK_ALIAS({function.name});",
                          bindings.make_binding(function).definition(True))


class Output(unittest.TestCase):
    def test_header_has_every_function_twice(self):
        mpi_h = header.render(list(FUNCTIONS.values()), standard.read_constants())
        for name in FUNCTIONS:
            self.assertIn(f" {name}(", mpi_h)
            self.assertIn(f" P{name}(", mpi_h)

    def test_coverage_counts(self):
        page = coverage.render(list(FUNCTIONS.values()), {"MPI_Send"})
        self.assertIn("| `MPI_Send_c` | done |", page)
        self.assertIn("| `MPI_Recv` | missing |", page)
        self.assertIn("**664**", page)

    def test_lines_are_broken_after_commas(self):
        long = "f(" + ", ".join(f"argument{i}" for i in range(20)) + ");"
        for row in text.wrap(long).splitlines():
            self.assertLessEqual(len(row), text.WIDTH)
        self.assertEqual("".join(text.wrap(long).split()), "".join(long.split()))

    def test_differences_are_found(self):
        changed, _ = generate.differing({"api/functions.txt": "no"})
        self.assertEqual(changed, ["api/functions.txt"])


if __name__ == "__main__":
    unittest.main()
