# libtorch as plain folders: the target `torch_headers_and_libs`, for the TorchScript helper program alone.
# TorchConfig.cmake isn't used: it looks for CUDA, MKL and more of the machine where torch was built.
# Taken is the first of: COMPATCHECK_TORCH, CMAKE_PREFIX_PATH, the active Python's torch, the environment's (tools/setup.sh).
set(COMPATCHECK_TORCH "" CACHE PATH "A libtorch: the folder that holds include/ and lib/")

function(compatcheck_find_torch)
  if(NOT COMPATCHECK_TORCH)
    string(REPLACE ":" ";" environment_prefixes "$ENV{CMAKE_PREFIX_PATH}")
    foreach(prefix IN LISTS CMAKE_PREFIX_PATH environment_prefixes SETUP_torch)
      if(EXISTS ${prefix}/include/torch/script.h OR EXISTS ${prefix}/include/torch/csrc/api/include/torch/script.h)
        set(COMPATCHECK_TORCH ${prefix} CACHE PATH "" FORCE)
        break()
      endif()
    endforeach()
  endif()
  set(headers ${COMPATCHECK_TORCH}/include)
  if(NOT EXISTS ${headers}/torch/script.h AND NOT EXISTS ${headers}/torch/csrc/api/include/torch/script.h)
    message(FATAL_ERROR "no libtorch: run tools/setup.sh build, or give one with -DCOMPATCHECK_TORCH=FOLDER or CMAKE_PREFIX_PATH")
  endif()

  compatcheck_torch_version(${headers} version)
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" supported ${VERSION_TORCH})
  if(NOT version STREQUAL supported)
    message(FATAL_ERROR "${COMPATCHECK_TORCH} is libtorch ${version}; compatcheck is made for ${supported}")
  endif()
  message(STATUS "Found libtorch ${version}: ${COMPATCHECK_TORCH}")

  add_library(torch_headers_and_libs INTERFACE IMPORTED GLOBAL)
  # IMPORTED: its headers count as system headers, so that our warnings don't reach them.
  target_include_directories(torch_headers_and_libs INTERFACE ${headers} ${headers}/torch/csrc/api/include)
  target_compile_definitions(torch_headers_and_libs INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
  # Not libtorch.so: in CUDA builds it draws in the GPU's libraries, and we load to the CPU alone.
  target_link_libraries(torch_headers_and_libs INTERFACE ${COMPATCHECK_TORCH}/lib/libtorch_cpu.so ${COMPATCHECK_TORCH}/lib/libc10.so)
endfunction()

function(compatcheck_torch_version headers result)
  foreach(file torch/headeronly/version.h torch/version.h torch/csrc/api/include/torch/version.h)
    if(EXISTS ${headers}/${file})
      file(STRINGS ${headers}/${file} lines REGEX "^#define TORCH_VERSION_(MAJOR|MINOR) ")
      if(lines)
        string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*" "\\1.\\2" version "${lines}")
        set(${result} ${version} PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
  set(${result} "of unknown version" PARENT_SCOPE)
endfunction()

compatcheck_find_torch()
