# What we link with: Debian's packages, and the onnx that tools/setup.sh built. libtorch: cmake/Torch.cmake.
include(Versions)

find_package(Threads REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(ZLIB REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(spdlog REQUIRED)
find_package(Onnx REQUIRED)

# The environment's Python, for generators and tests.
set(COMPATCHECK_PYTHON ${SETUP_environment}/bin/python CACHE FILEPATH "Python with what the tests need")
