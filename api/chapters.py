"""Which chapter of the standard a function belongs to: one generated file and one file of calls
each. The first pattern that matches decides."""

import re

CHAPTERS = [
    ("abi", "Language interoperability and the ABI", r"Abi_|.*_(toint|fromint)$"),
    ("tool", "Tool support", r"T_|Pcontrol$"),
    ("io", "I/O", r"File_(?!.*errhandler)|Register_datarep"),
    ("rma", "One-sided communication",
     r"Win_(?!.*(errhandler|attr|keyval))|R?(Accumulate|accumulate|Get_accumulate|get_accumulate)$"
     r"|R?(Put|Get|put|get)$|Compare_and_swap|Fetch_and_op"),
    ("topology", "Process topologies",
     r"Cart|Graph|Dist_graph|Dims_create|Topo_test|I?[Nn]eighbor_"),
    ("partitioned", "Partitioned communication", r"Psend_init|Precv_init|Pready|Parrived"),
    ("errhandlers", "Error handling",
     r".*errhandler|Errhandler_|Error_|Add_error_|Remove_error_"),
    ("attributes", "Caching",
     r".*(_attr|keyval)$|Attr_|Keyval_"),
    ("info", "The info object", r"Info_"),
    ("external", "External interfaces",
     r"Grequest_|Status_|Test_cancelled$|Get_(count|elements|elements_x)$"),
    ("dynamic", "Dynamic processes",
     r"Comm_(spawn|accept|connect|disconnect|join|get_parent)|(Open|Close)_port|(P|Unp)ublish_name"
     r"|Lookup_name"),
    ("sessions", "Initialization, sessions and threads",
     r"Init|Finalize|Abort$|Session_(init|finalize|get_)|Group_from_session_pset|Query_thread"
     r"|Is_thread_main"),
    ("point_to_point", "Point-to-point communication",
     r"(I?[BbSsRr]?send|I?s?[Rr]?recv|I?sendrecv)(_init|_replace)?$|(Send|Recv)|(I|M|Im)?[Pp]robe$"
     r"|I?[Mm]recv$|Cancel$|Start(all)?$|Test|Wait|Request_|.*(attach|detach|flush)_buffer$"
     r"|Buffer_|Isend|Irecv"),
    ("groups", "Groups", r"Group_"),
    ("comms", "Communicators", r"Comm_|Intercomm_"),
    ("datatypes", "Datatypes", r"Type_|Pack|Unpack|Aint_|Get_address"),
    ("ops", "Reduction operations", r"Op_|Reduce_local"),
    ("collectives", "Collective communication",
     r"I?([Bb]arrier|[Bb]cast|[Gg]atherv?|[Ss]catterv?|[Aa]llgatherv?|[Aa]lltoall[vw]?|[Rr]educe.*"
     r"|[Aa]llreduce|[Ss]can|[Ee]xscan)(_init)?$"),
    ("environment", "Environment",
     r"Get_|Wtime|Wtick|Alloc_mem|Free_mem"),
]

# The chapter of all functions beyond the standard (extensions.py).
EXTENSIONS = "mitigation"

_COMPILED = [(name, re.compile("MPI_(?:" + pattern + ")")) for name, _, pattern in CHAPTERS]
TITLES = {name: title for name, title, _ in CHAPTERS}
TITLES[EXTENSIONS] = "User-level failure mitigation"


def chapter_of(function):
    if function.base.startswith("MPIX_"):
        return EXTENSIONS
    for name, pattern in _COMPILED:
        if pattern.match(function.base):
            return name
    raise SystemExit(f"{function.name}: no chapter in api/chapters.py matches")
