# The product: the program, the TorchScript helper program in libexec, and one static library with every room, for
# find_package(compatcheck). Of other libraries it needs Debian's yaml-cpp, zlib, spdlog and protobuf, and the onnx that was built for
# it, which comes along.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(rooms GLOBAL PROPERTY COMPATCHECK_ROOMS)
set(objects ${rooms})
list(TRANSFORM objects REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
add_library(libcompatcheck STATIC ${objects})
set_target_properties(libcompatcheck PROPERTIES
  OUTPUT_NAME compatcheck ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib LINKER_LANGUAGE CXX)
install(TARGETS libcompatcheck ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/compatcheck DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

install(FILES ${Onnx_LIBRARY} DESTINATION ${CMAKE_INSTALL_LIBDIR}/compatcheck)

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/compatcheck)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/compatcheckConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/compatcheckConfig.cmake
  INSTALL_DESTINATION ${config_dir} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/compatcheckConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/compatcheckConfig.cmake ${PROJECT_BINARY_DIR}/cmake/compatcheckConfigVersion.cmake
        DESTINATION ${config_dir})

# The targets that `make` builds, without the tests.
add_custom_target(product DEPENDS libcompatcheck)
if(TARGET compatcheck)
  install(TARGETS compatcheck RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  add_dependencies(product compatcheck)

  # Manual pages and completions, as the program itself prints them.
  set(pages ${PROJECT_BINARY_DIR}/share)
  add_custom_command(OUTPUT ${pages}/man/man1/compatcheck.1
    COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:compatcheck> -D INTO=${pages} -P ${PROJECT_SOURCE_DIR}/cmake/WritePages.cmake
    DEPENDS compatcheck ${PROJECT_SOURCE_DIR}/cmake/WritePages.cmake
    COMMENT "Writing manual pages and completions"
    VERBATIM)
  add_custom_target(pages ALL DEPENDS ${pages}/man/man1/compatcheck.1)
  add_dependencies(product pages)
  install(DIRECTORY ${pages}/man/man1/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(DIRECTORY ${pages}/bash-completion ${pages}/zsh ${pages}/fish DESTINATION ${CMAKE_INSTALL_DATAROOTDIR})
endif()
if(TARGET compatcheck-torchscript)
  if(COMPATCHECK_KEEP_LIBTORCH_PATH)
    set_target_properties(compatcheck-torchscript PROPERTIES INSTALL_RPATH ${COMPATCHECK_LIBTORCH}/lib)
  endif()
  install(TARGETS compatcheck-torchscript RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR})
  add_dependencies(product compatcheck-torchscript)
endif()
