# How messages move on while a program computes, by mode of progress, and the other programs with
# threads of the library's own beside theirs.
foreach(mode polling blocking thread two_threads)
  set(with_${mode} HAWSER_WAIT_PROGRESS=${mode})
  multirank_test(progress VARIANT ${mode} RANKS 2 ENVIRONMENT ${with_${mode}})
  multirank_test(progress VARIANT ${mode}_no_single_copy RANKS 2 ENVIRONMENT ${with_${mode}}
    HAWSER_SHM_SINGLE_COPY=false)
endforeach()
multirank_test(progress VARIANT thread RANKS 4 ENVIRONMENT ${with_thread})
foreach(program p2p requests collectives stress threads)
  multirank_test(${program} VARIANT thread RANKS 2 4 ENVIRONMENT ${with_thread})
endforeach()
foreach(program p2p stress)
  multirank_test(${program} VARIANT blocking RANKS 2 4 ENVIRONMENT ${with_blocking})
endforeach()
multirank_test(waiting VARIANT thread RANKS 8 ENVIRONMENT ${with_thread})

if(NOT TARGET hawser_component_verbs OR NOT TARGET softrdma_ibverbs)
  return()
endif()
set(verbs_progress HAWSER_TRANSPORT=verbs HAWSER_VERBS_ADAPTER=softrdma SOFTRDMA_FABRIC=hawser-tests
  "HAWSER_CHANNEL_EARN_RULES=messages >= 2 -> rc_send\nmessages >= 2 -> rc_fast_path")
foreach(mode polling blocking thread two_threads)
  foreach(rdma get put)
    multirank_test(progress VARIANT verbs_${mode}_${rdma} RANKS 2 ENVIRONMENT ${verbs_progress}
      ${with_${mode}} HAWSER_P2P_RDMA=${rdma})
  endforeach()
endforeach()
multirank_test(progress VARIANT verbs_thread_ud RANKS 2 ENVIRONMENT ${verbs_progress} ${with_thread}
  "HAWSER_CHANNEL_SEND_RULES=true -> ud_send")
foreach(program p2p requests collectives stress threads)
  multirank_test(${program} VARIANT verbs_thread RANKS 2 4 ENVIRONMENT ${verbs_progress}
    ${with_thread})
  multirank_test(${program} VARIANT verbs_two_threads RANKS 2 4 ENVIRONMENT ${verbs_progress}
    ${with_two_threads})
endforeach()
multirank_test(waiting VARIANT verbs_two_threads RANKS 8 ENVIRONMENT ${verbs_progress}
  ${with_two_threads})
add_dependencies(multirank_progress hawser_component_verbs softrdma_ibverbs)
