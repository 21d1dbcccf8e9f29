# The onnx that tools/setup.sh built, as the target `onnx`. Its own CMake config asks for a protobuf config package,
# which Debian doesn't ship.
find_package(Protobuf REQUIRED MODULE)

find_path(Onnx_INCLUDE_DIR onnx/defs/schema.h HINTS ${SETUP_onnx}/include NO_DEFAULT_PATH)
find_library(Onnx_LIBRARY onnx HINTS ${SETUP_onnx}/lib NO_DEFAULT_PATH)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Onnx REQUIRED_VARS Onnx_LIBRARY Onnx_INCLUDE_DIR
                                  REASON_FAILURE_MESSAGE "run tools/setup.sh build, which builds onnx ${VERSION_ONNX} once")
mark_as_advanced(Onnx_INCLUDE_DIR Onnx_LIBRARY)

if(Onnx_FOUND AND NOT TARGET onnx)
  add_library(onnx STATIC IMPORTED)
  set_target_properties(onnx PROPERTIES
    IMPORTED_LOCATION ${Onnx_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${Onnx_INCLUDE_DIR}
    INTERFACE_COMPILE_DEFINITIONS "ONNX_NAMESPACE=onnx;ONNX_ML=1"
    INTERFACE_LINK_LIBRARIES protobuf::libprotobuf)
endif()
