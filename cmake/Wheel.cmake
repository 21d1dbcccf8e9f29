# The wheel (pyproject.toml): beside the package's Python files the module, the program as a script, its manual pages, and the
# licenses of what is linked in. With COMPATCHECK_WITH_LIBTORCH the helper program as well.
add_custom_target(wheel DEPENDS compatcheck compatcheck_python pages)
install(TARGETS compatcheck_python LIBRARY DESTINATION compatcheck COMPONENT wheel)
install(TARGETS compatcheck RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT wheel)
install(DIRECTORY ${PROJECT_BINARY_DIR}/share/man DESTINATION ${SKBUILD_DATA_DIR}/share COMPONENT wheel)
if(TARGET compatcheck-torchscript)
  add_dependencies(wheel compatcheck-torchscript)
  install(TARGETS compatcheck-torchscript RUNTIME DESTINATION compatcheck/libexec COMPONENT wheel)
endif()

foreach(package libcli11-dev libfmt-dev libspdlog-dev libyaml-cpp-dev nlohmann-json3-dev zlib1g-dev)
  install(FILES /usr/share/doc/${package}/copyright DESTINATION compatcheck/licenses RENAME ${package} COMPONENT wheel)
endforeach()
install(FILES ${SETUP_onnx}/LICENSE DESTINATION compatcheck/licenses RENAME onnx COMPONENT wheel)
install(FILES ${SETUP_protobuf}/LICENSE DESTINATION compatcheck/licenses RENAME protobuf COMPONENT wheel)
