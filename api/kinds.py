"""What the kinds of parameters of the standard mean to a binding: the one table that decides how
an argument is checked and what the call gets (bindings.py says how that looks in C++)."""

# Handles: class of the object, and how Call names the check of those that have error handlers.
HANDLES = {
    "COMMUNICATOR": "core::Comm",
    "DATATYPE": "core::Datatype",
    "ERRHANDLER": "core::Errhandler",
    "FILE": "File",
    "GROUP": "core::Group",
    "INFO": "core::Info",
    "MESSAGE": "p2p::Message",
    "OPERATION": "core::Op",
    "REQUEST": "core::Request",
    "SESSION": "Session",
    "WINDOW": "Win",
}
# Handles that matter at one process only: function -> (argument, what says so).
AT_LEADER_ONLY = {
    "MPI_Intercomm_create": ("peer_comm", "call.is_local_rank(local_leader, local_comm_object)"),
    "MPI_Intercomm_create_from_groups": (
        "remote_group", "call.is_rank_in(local_leader, local_group_object)"),
}

OWNERS = {"COMMUNICATOR": "comm", "SESSION": "session", "WINDOW": "win", "FILE": "file"}

# Numbers of items: MPI_ERR_COUNT if negative. 64 bits inside.
COUNTS = {
    "POLYDTYPE_NUM_ELEM",
    "POLYDTYPE_NUM_ELEM_NNI",
    "POLYDTYPE_NUM_ELEM_PI",
    "POLYXFER_NUM_ELEM",
    "POLYXFER_NUM_ELEM_NNI",
    "XFER_NUM_ELEM",
    "XFER_NUM_ELEM_NNI",
}
# Sizes in bytes and the like: MPI_ERR_ARG if negative. 64 bits inside.
SIZES = {
    "ALLOC_MEM_NUM_BYTES",
    "NUM_BYTES",
    "POLYDTYPE_PACK_SIZE",
    "POLYNUM_BYTES",
    "POLYNUM_BYTES_NNI",
    "POLYNUM_PARAM_VALUES",
    "WINDOW_SIZE",
    "WIN_ATTACH_SIZE",
}
# Displacements: any sign. 64 bits inside.
DISPLACEMENTS = {
    "DISPLACEMENT",
    "POLYDISPLACEMENT",
    "POLYDISPLACEMENT_AINT_COUNT",
    "POLYDISPLACEMENT_COUNT",
    "POLYDISPOFFSET",
    "POLYDTYPE_STRIDE_BYTES",
    "POLYLOCATION",
    "POLYRMA_DISPLACEMENT",
    "RMA_DISPLACEMENT_NNI",
}
# Lengths of arrays and strings: int, MPI_ERR_ARG if negative.
LENGTHS = {
    "ARRAY_LENGTH",
    "ARRAY_LENGTH_NNI",
    "ARRAY_LENGTH_PI",
    "INFO_VALUE_LENGTH",
    "PARTITION",
}
LOGICALS = {"LOGICAL", "LOGICAL_BOOLEAN", "LOGICAL_OPTIONAL"}
# void* in C, but a place for a pointer.
POINTER_OUTPUTS = {"C_BUFFER", "C_BUFFER2", "ATTRIBUTE_VAL", "ATTRIBUTE_VAL_10"}
# Passed on as they are.
RAW = {
    "ARGUMENT_COUNT",
    "ARGUMENT_LIST",
    "ATTRIBUTE_VAL",
    "ATTRIBUTE_VAL_10",
    "BUFFER",
    "EXTRA_STATE",
    "EXTRA_STATE2",
    "FUNCTION",
    "LOGICAL_VOID",
    "POLYFUNCTION",
    "STRING_ARRAY",
    "STRING_2DARRAY",
}

# Arguments that matter at the root alone, or may be a null pointer: function -> those that the call
# gets as they are, and looks at itself.
UNCHECKED = {
    "MPI_Comm_accept": {"port_name"},
    "MPI_Comm_connect": {"port_name"},
    "MPI_Comm_spawn": {"command", "argv", "maxprocs", "array_of_errcodes"},
    "MPI_Comm_spawn_multiple": {"count", "array_of_commands", "array_of_argv",
                                "array_of_maxprocs", "array_of_info", "array_of_errcodes"},
}

# Functions that may be called at any time (MPI-5.0 §11.4.1), as patterns after MPI_.
ALWAYS_CALLABLE = (
    r"Initialized|Finalized|Init|Init_thread|Session_init|Get_version|Get_library_version"
    r"|Info_.*|.*_create_errhandler|Errhandler_free|Error_.*|Add_error_.*|Remove_error_.*"
    r"|Session_(get|set|call)_errhandler|Abi_.*|Status_.*|Test_cancelled|Pcontrol"
)

# Functions with a short way, which src/binding/calls/short_way.hpp defines.
SHORT_WAYS = {"MPI_Send", "MPI_Isend", "MPI_Recv", "MPI_Irecv", "MPI_Wait", "MPI_Waitall"}

# Where an INFO argument may not be MPI_INFO_NULL.
INFO_REQUIRED = r"Info_.*|Comm_set_info|Win_set_info|File_set_info|Abi_set_fortran_info"

# Where a REQUEST may be MPI_REQUEST_NULL.
REQUEST_OPTIONAL = r"Wait.*|Test.*|Request_get_status.*"

# Where a FILE may be MPI_FILE_NULL: the error handler that files inherit.
FILE_OPTIONAL = r"File_(get|set|call)_errhandler"

# Where the null handle has a name of its own.
NULL_NAMED = r"(Comm|Type|Win)_get_name"

# Datatypes of these chapters describe data that is moved: they must be committed.
COMMITTED_CHAPTERS = {"point_to_point", "partitioned", "collectives", "topology", "rma", "io"}
COMMITTED = r"(Pack|Unpack|Pack_external|Unpack_external|Reduce_local)$"

# Room of a string result, where the table of the standard has no constant for it.
STRING_ROOM = {
    ("MPI_Info_get", "value"): "Count{valuelen} + 1",
    ("MPI_Info_get_string", "value"): "*buflen",
    ("MPI_Info_get_nthkey", "key"): "MPI_MAX_INFO_KEY",
    ("MPI_Session_get_nth_pset", "pset_name"): "*pset_len",
}

# Functions that are another one under an older name or with wider results.
SAME_AS = {
    "MPI_Attr_delete": "comm_delete_attr",
    "MPI_Attr_get": "comm_get_attr",
    "MPI_Attr_put": "comm_set_attr",
    "MPI_Keyval_create": "comm_create_keyval",
    "MPI_Keyval_free": "comm_free_keyval",
    "MPI_Get_elements_x": "get_elements",
    "MPI_Status_set_elements_x": "status_set_elements",
    "MPI_Type_get_extent_x": "type_get_extent",
    "MPI_Type_get_true_extent_x": "type_get_true_extent",
    "MPI_Type_size_x": "type_size",
}

# Functions whose large-count variant leaves a trace in the object that it makes: their calls get a
# last argument that tells the variants apart.
WIDTH_MATTERS = (
    r"Type_(contiguous|vector|indexed|create_(hvector|hindexed|hindexed_block|indexed_block|struct"
    r"|subarray|darray|resized)|get_contents|get_envelope)$"
)

# The tools interface.
TOOL_HANDLES = {
    "CVAR": "tool::ControlHandle",
    "PVAR": "tool::PerformanceHandle",
    "PVAR_SESSION": "tool::PerformanceSession",
    "TOOLS_ENUM": "tool::Enumeration",
}

# There are no events and no sources of events: whatever handle or index says, it is wrong.
TOOL_WITHOUT = {
    "EVENT_INDEX": "t_invalid_index",
    "EVENT_INSTANCE": "t_invalid_handle",
    "EVENT_REGISTRATION": "t_invalid_handle",
    "SOURCE_INDEX": "t_invalid_index",
}

# Where a null pointer says that a result is not wanted.
TOOL_RESULTS_OPTIONAL = r"MPI_T_(.*_get_info|enum_get_item)"

# Where MPI_T_PVAR_ALL_HANDLES stands for all handles of a session.
TOOL_ALL_HANDLES = r"MPI_T_pvar_(start|stop|reset)"

# Without initialisation of the tools interface.
TOOL_ALWAYS_CALLABLE = r"MPI_T_(init_thread|finalize)"
