# The libraries that we link: Debian's packages, and the onnx that tools/setup.sh built. libtorch: cmake/Torch.cmake.
# Libraries are linked statically, so that the program and the Python module run where none of them is installed.
include(Versions)

set(Protobuf_USE_STATIC_LIBS ON)
set(ZLIB_USE_STATIC_LIBS ON)
# A build folder of before may know the shared ones.
foreach(known ZLIB_LIBRARY ZLIB_LIBRARY_RELEASE Protobuf_LIBRARY_RELEASE Protobuf_LITE_LIBRARY_RELEASE)
  if("${${known}}" MATCHES "\\.so$")
    unset(${known} CACHE)
  endif()
endforeach()
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(spdlog REQUIRED)  # its headers alone, as of fmt
find_package(Onnx REQUIRED)

# Debian's protobuf is for programs alone. The Python module needs the one that tools/setup.sh built from the same source.
if(EXISTS ${SETUP_protobuf})
  set_target_properties(protobuf::libprotobuf PROPERTIES
    IMPORTED_LOCATION ${SETUP_protobuf}/libprotobuf.a IMPORTED_LOCATION_RELEASE ${SETUP_protobuf}/libprotobuf.a)
endif()

# yaml-cpp's own CMake config has the shared library alone.
find_library(COMPATCHECK_YAML_CPP libyaml-cpp.a REQUIRED)
add_library(yaml-cpp STATIC IMPORTED GLOBAL)
set_target_properties(yaml-cpp PROPERTIES IMPORTED_LOCATION ${COMPATCHECK_YAML_CPP})

# The environment's Python, for generators and tests.
set(COMPATCHECK_PYTHON ${SETUP_environment}/bin/python CACHE FILEPATH "Python with what the tests need")
