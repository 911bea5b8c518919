# The same programs over TCP connections, plain and encrypted.
set(on_tcp HAWSER_TRANSPORT=tcp HAWSER_TCP_INCLUDE=lo)
set(on_tcp_encrypted ${on_tcp} HAWSER_TCP_ENCRYPT=true)
set(on_tcp_crc ${on_tcp} HAWSER_DELIVERY_CRC=on HAWSER_DELIVERY_FLIP_ONE_IN=40)
set(on_tcp_window ${on_tcp} HAWSER_DELIVERY_WINDOW_FRAMES=4)

# Each program meets each way, with 2 ranks and with 4.
multirank_test(p2p VARIANT tcp RANKS 2 4 ENVIRONMENT ${on_tcp})
multirank_test(p2p VARIANT tcp_encrypted RANKS 4 ENVIRONMENT ${on_tcp_encrypted})
multirank_test(p2p VARIANT tcp_crc RANKS 2 ENVIRONMENT ${on_tcp_crc})
multirank_test(requests VARIANT tcp RANKS 4 ENVIRONMENT ${on_tcp})
multirank_test(requests VARIANT tcp_encrypted RANKS 2 ENVIRONMENT ${on_tcp_encrypted})
multirank_test(requests VARIANT tcp_window RANKS 2 ENVIRONMENT ${on_tcp_window})
multirank_test(collectives VARIANT tcp RANKS 2 4 ENVIRONMENT ${on_tcp})
multirank_test(collectives VARIANT tcp_encrypted RANKS 4 ENVIRONMENT ${on_tcp_encrypted})
multirank_test(stress VARIANT tcp RANKS 2 4 ENVIRONMENT ${on_tcp})
multirank_test(stress VARIANT tcp_encrypted RANKS 2 4 ENVIRONMENT ${on_tcp_encrypted})
multirank_test(stress VARIANT tcp_crc RANKS 4 ENVIRONMENT ${on_tcp_crc})
multirank_test(stress VARIANT tcp_window RANKS 4 ENVIRONMENT ${on_tcp_window})
multirank_test(comms VARIANT tcp RANKS 4 ENVIRONMENT ${on_tcp})
multirank_test(unexpected VARIANT tcp RANKS 2 ENVIRONMENT ${on_tcp})
multirank_test(threads VARIANT tcp RANKS 2 ENVIRONMENT ${on_tcp})
multirank_test(waiting VARIANT tcp RANKS 8 ENVIRONMENT ${on_tcp})

# How many connections there are, and when.
multirank_test(connections VARIANT ring RANKS 3 8 ARGUMENTS ring ENVIRONMENT ${on_tcp})
multirank_test(connections VARIANT static RANKS 8 ARGUMENTS all ENVIRONMENT ${on_tcp}
  HAWSER_CHANNEL_CONNECT=static)
multirank_test(connections VARIANT client_server RANKS 8 ARGUMENTS all ENVIRONMENT ${on_tcp}
  HAWSER_CHANNEL_CONNECT=client_server)
multirank_test(connections VARIANT idle RANKS 4 ARGUMENTS idle ENVIRONMENT ${on_tcp}
  HAWSER_TCP_IDLE_S=1)
multirank_test(connections VARIANT few RANKS 8 ARGUMENTS few ENVIRONMENT ${on_tcp}
  HAWSER_TCP_CONNECTIONS_MAX=2)
# The undefined-behaviour sanitizer makes a pipe to look at an object, and takes it for a broken one
# where no descriptor is left.
if(NOT HAWSER_SANITIZE)
  multirank_test(connections VARIANT few_descriptors RANKS 8 ARGUMENTS few_descriptors ENVIRONMENT
    ${on_tcp})
endif()
multirank_test(p2p VARIANT tcp_few RANKS 4 ENVIRONMENT ${on_tcp} HAWSER_TCP_CONNECTIONS_MAX=1)
