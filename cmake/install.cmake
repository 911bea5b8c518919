# What people get. build/<preset> has the shape of an installation (bin, lib, include), so that the
# compiler wrappers are the same files in both. Programs and the library are installed by the folder
# that builds them; this file adds what makes a prefix usable: wrappers, pkg-config, CMake package.
include(CMakePackageConfigHelpers)

set(hawser_bin ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_BINDIR})
set(hawser_lib ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR})
set(wrapper_sources ${PROJECT_SOURCE_DIR}/tools/wrapper)
file(MAKE_DIRECTORY ${hawser_bin} ${hawser_lib})
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_INCLUDEDIR}
  SYMBOLIC)

# hawser_wrapper(NAME LANGUAGE ENVIRONMENT-VARIABLE COMPILER [link…])
function(hawser_wrapper HAWSER_WRAPPER HAWSER_WRAPPER_LANGUAGE HAWSER_WRAPPER_VARIABLE
         HAWSER_WRAPPER_COMPILER)
  set(HAWSER_WRAPPER_FLAGS "")
  if(HAWSER_SANITIZE)
    set(HAWSER_WRAPPER_FLAGS -fsanitize=${HAWSER_SANITIZE})
  endif()
  configure_file(${wrapper_sources}/wrapper.in ${hawser_bin}/${HAWSER_WRAPPER} @ONLY
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
    WORLD_EXECUTE)
  install(PROGRAMS ${hawser_bin}/${HAWSER_WRAPPER} DESTINATION ${CMAKE_INSTALL_BINDIR})
  foreach(link ${ARGN})
    file(CREATE_LINK ${HAWSER_WRAPPER} ${hawser_bin}/${link} SYMBOLIC)
    install(FILES ${hawser_bin}/${link} DESTINATION ${CMAKE_INSTALL_BINDIR})
  endforeach()
endfunction()

hawser_wrapper(mpicc C HAWSER_CC ${CMAKE_C_COMPILER})
hawser_wrapper(mpicxx C++ HAWSER_CXX ${CMAKE_CXX_COMPILER} mpic++ mpiCC)

configure_file(${wrapper_sources}/hawser.pc.in ${hawser_lib}/pkgconfig/hawser.pc @ONLY)
install(FILES ${hawser_lib}/pkgconfig/hawser.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Hawser)
configure_package_config_file(${wrapper_sources}/HawserConfig.cmake.in
  ${PROJECT_BINARY_DIR}/${package}/HawserConfig.cmake
  INSTALL_DESTINATION ${package}
  PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/${package}/HawserConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
install(DIRECTORY ${PROJECT_BINARY_DIR}/${package}/ DESTINATION ${package})
