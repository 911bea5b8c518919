# The same programs over the channels of the verbs transport that are earned: each alone, together,
# few of them, with connections that break, packets that are lost and bits that flip. The label multirank has a
# pairwise selection; verbs_matrix has all (./dev test --nightly).

# Everything is earned soon, so that all of a program runs on it.
set(soon "HAWSER_CHANNEL_EARN_RULES=messages >= 2 -> rc_send\nmessages >= 2 -> rc_fast_path")
# Short messages complete by themselves on every chain, as programs expect it.
set(chain_ud "HAWSER_CHANNEL_SEND_RULES=true -> ud_send")
set(chain_ud_copy "HAWSER_CHANNEL_SEND_RULES=size <= 900 -> ud_send\ntrue -> copy")
set(chain_zero_copy
  "HAWSER_CHANNEL_SEND_RULES=size <= 900 -> ud_send\ntrue -> ud_zero_copy\ntrue -> ud_send"
  HAWSER_VERBS_ZERO_COPY_FIRST_TIMEOUT_NS=50000000)
set(chain_rc "HAWSER_CHANNEL_SEND_RULES=true -> rc_send\ntrue -> ud_send")
set(chain_fast
  "HAWSER_CHANNEL_SEND_RULES=size <= 2000 -> rc_fast_path\ntrue -> rc_send\ntrue -> ud_send")
set(chain_rdma "HAWSER_CHANNEL_SEND_RULES=size <= 448 -> rc_send\ntrue -> rc_rdma\ntrue -> ud_send")
# By queue pairs that the ranks of a host share.
set(chain_xrc "HAWSER_CHANNEL_SEND_RULES=true -> xrc_send\ntrue -> ud_send"
  "HAWSER_CHANNEL_EARN_RULES=messages >= 2 -> xrc_send")
set(chain_hybrid HAWSER_VERBS_FAST_PATH_CHECK=on)  # the default rules

set(fault_none HAWSER_STATS=)
set(fault_loss SOFTRDMA_LOSS=0.01)
set(fault_order SOFTRDMA_REORDER=0.02 SOFTRDMA_DUPLICATE=0.01)
set(fault_breaks HAWSER_VERBS_BREAK_ONE_IN=50)
set(fault_one HAWSER_CHANNEL_CONNECTIONS_MAX=1 HAWSER_CHANNEL_FAST_PATHS_MAX=1
  HAWSER_CHANNEL_XRC_PEERS_MAX=1
  HAWSER_VERBS_ZERO_COPY_QUEUE_PAIRS=1)
set(fault_window HAWSER_DELIVERY_WINDOW_FRAMES=4 HAWSER_VERBS_RC_RECEIVE_BUFFERS=8
  HAWSER_VERBS_RC_RECEIVE_BUFFERS_GROWTH=2 HAWSER_VERBS_ZERO_COPY_RECEIVE_DEPTH=4
  HAWSER_VERBS_ZERO_COPY_SEND_DEPTH=3)
# Receive buffers of each connection, few of them.
set(fault_own HAWSER_VERBS_SRQ=off HAWSER_VERBS_RC_CREDITS=2)
# An adapter with queue pairs for two connections; memory for about one.
set(fault_refused SOFTRDMA_MAX_QP=5)
set(fault_memory HAWSER_CHANNEL_MEMORY_MAX=1500000)
set(fault_crc HAWSER_DELIVERY_CRC=on HAWSER_DELIVERY_FLIP_ONE_IN=40)

set(rdma_get HAWSER_P2P_RDMA=get)
set(rdma_unchained HAWSER_P2P_RDMA=get HAWSER_P2P_RDMA_CHAINED=false)
set(rdma_put HAWSER_P2P_RDMA=put HAWSER_P2P_RENDEZVOUS_INLINE=true)
set(rdma_pipeline HAWSER_P2P_RDMA=pipeline HAWSER_P2P_PIPELINE_BLOCK_BYTES=8192)

# verbs_variant(CHAIN FAULT RDMA PROGRAM RANKS [LABEL name])
function(verbs_variant chain fault rdma program ranks)
  multirank_test(${program} VARIANT verbs_${chain}_${fault}_${rdma} RANKS ${ranks} ${ARGN} ENVIRONMENT
    ${on_verbs} SOFTRDMA_FABRIC=hawser-tests-${fault} ${soon} ${chain_${chain}} ${fault_${fault}}
    ${rdma_${rdma}})
endfunction()

# Every two values of chain, fault, rdma, program and ranks that go together meet somewhere.
verbs_variant(ud none get p2p 2)
verbs_variant(ud loss put requests 4)
verbs_variant(ud order pipeline stress 8)
verbs_variant(ud breaks unchained collectives 2)
verbs_variant(ud crc get requests 8)
verbs_variant(ud_copy none put stress 4)
verbs_variant(ud_copy loss get collectives 8)
verbs_variant(ud_copy window unchained p2p 4)
verbs_variant(ud_copy order unchained requests 2)
verbs_variant(ud_copy crc pipeline stress 2)
verbs_variant(zero_copy none get collectives 8)
verbs_variant(zero_copy loss pipeline stress 4)
verbs_variant(zero_copy order unchained requests 4)
verbs_variant(zero_copy one put stress 8)
verbs_variant(zero_copy window get p2p 2)
verbs_variant(zero_copy crc get stress 4)
verbs_variant(rc none unchained requests 8)
verbs_variant(rc loss pipeline p2p 4)
verbs_variant(rc breaks put stress 2)
verbs_variant(rc one get collectives 4)
verbs_variant(rc window pipeline collectives 8)
verbs_variant(rc order get requests 4)
verbs_variant(rc crc unchained collectives 4)
verbs_variant(fast none pipeline collectives 4)
verbs_variant(fast loss unchained stress 2)
verbs_variant(fast breaks get requests 8)
verbs_variant(fast one put p2p 8)
verbs_variant(fast order put collectives 2)
verbs_variant(fast window get stress 4)
verbs_variant(fast crc put p2p 4)
verbs_variant(rdma none put collectives 8)
verbs_variant(rdma loss get stress 4)
verbs_variant(rdma breaks pipeline p2p 4)
verbs_variant(rdma breaks unchained stress 8)
verbs_variant(rdma one unchained p2p 4)
verbs_variant(rdma order get p2p 2)
verbs_variant(rdma window put requests 2)
verbs_variant(rdma crc get p2p 2)
verbs_variant(rdma crc put requests 8)
verbs_variant(rdma crc pipeline stress 4)
verbs_variant(rdma crc unchained collectives 2)
verbs_variant(hybrid none get stress 8)
verbs_variant(hybrid loss put p2p 8)
verbs_variant(hybrid breaks get p2p 4)
verbs_variant(hybrid breaks put requests 4)
verbs_variant(hybrid one pipeline requests 8)
verbs_variant(hybrid order pipeline collectives 4)
verbs_variant(hybrid crc get p2p 8)
verbs_variant(hybrid window unchained collectives 4)
verbs_variant(rc own pipeline stress 4)
verbs_variant(fast own get collectives 8)
verbs_variant(rdma own put p2p 4)
verbs_variant(rdma own pipeline requests 8)
verbs_variant(hybrid own unchained p2p 2)
verbs_variant(rc refused get stress 8)
verbs_variant(rdma refused put collectives 8)
verbs_variant(hybrid refused pipeline p2p 4)
verbs_variant(xrc none get collectives 8)
verbs_variant(xrc loss put p2p 4)
verbs_variant(xrc order get stress 4)
verbs_variant(xrc breaks unchained stress 8)
verbs_variant(xrc one pipeline requests 4)
verbs_variant(xrc window get stress 2)
verbs_variant(xrc crc get p2p 2)
verbs_variant(xrc refused get p2p 8)
verbs_variant(rc memory get collectives 8)
verbs_variant(fast memory put stress 4)
verbs_variant(hybrid memory pipeline requests 8)

# Everyone is connected before MPI_Init returns.
foreach(connect static client_server)
  multirank_test(collectives VARIANT verbs_${connect} RANKS 8 ENVIRONMENT ${on_softrdma}
    HAWSER_CHANNEL_CONNECT=${connect})
endforeach()

# Several rails: ports of one device, or devices, that are lossy, go down now and then, or whose
# connections break.
set(rails_ports SOFTRDMA_PORTS=2)
set(rails_devices SOFTRDMA_DEVICES=2)
set(rails_ports_loss ${rails_ports} ${fault_loss})
set(rails_devices_breaks ${rails_devices} ${fault_breaks})
set(rails_flaps SOFTRDMA_PORTS=2 SOFTRDMA_PORT_FLAPS=5)
set(rails_soon HAWSER_P2P_STRIPE_BYTES_MIN=8192)  # what is at all long goes by all rails
set(rails_ports_crc ${rails_ports} ${rails_soon} ${fault_crc})
set(rails_flaps_crc ${rails_flaps} ${rails_soon} ${fault_crc})
set(rails_flaps_own ${rails_flaps} ${rails_soon} ${fault_own})
set(rails_devices_memory ${rails_devices} ${rails_soon} ${fault_memory})
set(rails_flaps_zero_copy ${rails_flaps} ${chain_zero_copy})
set(rails_flaps_xrc ${rails_flaps} ${chain_xrc})
set(rails_many SOFTRDMA_PORTS=2 SOFTRDMA_DEVICES=2 SOFTRDMA_PORT_FLAPS=5 SOFTRDMA_LOSS=0.01)

# rails_variant(RAILS RDMA PROGRAM RANKS)
function(rails_variant rails rdma program ranks)
  multirank_test(${program} VARIANT rails_${rails}_${rdma} RANKS ${ranks} ENVIRONMENT ${on_verbs}
    SOFTRDMA_FABRIC=hawser-tests-rails-${rails} ${soon} ${rails_${rails}} ${rdma_${rdma}})
endfunction()

rails_variant(ports get p2p 2)
rails_variant(ports put requests 4)
rails_variant(ports pipeline stress 8)
rails_variant(devices put p2p 4)
rails_variant(devices get stress 4)
rails_variant(devices pipeline collectives 8)
rails_variant(ports_loss get collectives 4)
rails_variant(ports_loss put stress 2)
rails_variant(devices_breaks get requests 8)
rails_variant(devices_breaks pipeline p2p 4)
rails_variant(flaps get stress 4)
rails_variant(flaps put collectives 4)
rails_variant(flaps pipeline requests 2)
rails_variant(many get p2p 8)
rails_variant(many put stress 4)
rails_variant(ports_crc get p2p 2)
rails_variant(ports_crc pipeline requests 4)
rails_variant(flaps_crc get requests 4)
rails_variant(flaps_crc put stress 4)
rails_variant(flaps_own pipeline stress 4)
rails_variant(devices_memory put requests 8)
rails_variant(flaps_zero_copy get stress 4)
rails_variant(flaps_xrc get stress 4)
rails_variant(flaps_xrc put p2p 8)

# A port that goes down on command, and comes back.
add_executable(multirank_rails rails.cpp)
target_link_libraries(multirank_rails PRIVATE hawser_flags multirank_flags mpi_abi)
add_dependencies(multirank_rails hawser_component_verbs softrdma_ibverbs softrdma_command)
foreach(rdma get put pipeline)
  set(name multirank.rails.${rdma}.2)
  add_test(NAME ${name} COMMAND $<TARGET_FILE:mpirun> -n 2 --timeout 100
    $<TARGET_FILE:multirank_rails> $<TARGET_FILE:softrdma_command>)
  set_tests_properties(${name} PROPERTIES LABELS multirank PROCESSORS 2 TIMEOUT 120
    ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0;${on_verbs};SOFTRDMA_PORTS=2;SOFTRDMA_FABRIC=hawser-tests-port-${rdma};${rdma_${rdma}}")
endforeach()

# Long messages by another network at the same time: shared memory, from whose sender the receiver
# copies a share. Where connections break, bits flip, there are two rails, or copying is not allowed.
set(on_networks HAWSER_TRANSPORT=verbs,shm HAWSER_VERBS_ADAPTER=softrdma HAWSER_P2P_STRIPE_NETWORKS=true
  ${soon})
set(networks_all SOFTRDMA_FABRIC=hawser-tests-networks)
set(networks_crc ${fault_crc} SOFTRDMA_FABRIC=hawser-tests-networks-crc)
set(networks_crc_copies HAWSER_DELIVERY_CRC=single_copy HAWSER_DELIVERY_FLIP_ONE_IN=8
  SOFTRDMA_FABRIC=hawser-tests-networks-copies)
set(networks_breaks ${fault_breaks} SOFTRDMA_FABRIC=hawser-tests-networks-breaks)
set(networks_rails ${rails_flaps} SOFTRDMA_FABRIC=hawser-tests-networks-rails)
set(networks_refused HAWSER_SHM_SINGLE_COPY=false SOFTRDMA_FABRIC=hawser-tests-networks-refused)
foreach(rdma get put pipeline)
  foreach(fault all crc crc_copies)
    multirank_test(networks VARIANT ${fault}_${rdma} RANKS 2 4 ARGUMENTS both ENVIRONMENT
      ${on_networks} ${networks_${fault}} ${rdma_${rdma}})
  endforeach()
  multirank_test(networks VARIANT refused_${rdma} RANKS 2 ARGUMENTS first ENVIRONMENT ${on_networks}
    ${networks_refused} ${rdma_${rdma}})
  foreach(fault all crc breaks rails)
    multirank_test(stress VARIANT networks_${fault}_${rdma} RANKS 4 ENVIRONMENT ${on_networks}
      ${networks_${fault}} ${rdma_${rdma}} ${rails_soon})
  endforeach()
endforeach()
multirank_test(networks VARIANT unchained RANKS 2 ARGUMENTS both ENVIRONMENT ${on_networks}
  ${networks_all} ${rdma_unchained})
add_dependencies(multirank_networks hawser_component_verbs softrdma_ibverbs)

# Long messages cross by operations in the last two chains alone.
foreach(chain ud ud_copy zero_copy rc fast xrc rdma hybrid)
  set(ways get)
  if(chain MATCHES "rdma|hybrid")
    set(ways get unchained put pipeline)
  endif()
  foreach(fault none loss order breaks one window crc own refused memory)
    foreach(rdma ${ways})
      foreach(program p2p requests collectives stress)
        foreach(ranks 2 4 8)
          if(NOT TEST multirank.${program}.verbs_${chain}_${fault}_${rdma}.${ranks})
            verbs_variant(${chain} ${fault} ${rdma} ${program} ${ranks} LABEL verbs_matrix)
          endif()
        endforeach()
      endforeach()
    endforeach()
  endforeach()
endforeach()
