# libtorch as plain folders: the target `torch_headers_and_libs`, for the TorchScript helper program alone.
# TorchConfig.cmake isn't used: it looks for CUDA, MKL and more of the machine where torch was built.
# Taken is the first of: COMPATCHECK_TORCH, CMAKE_PREFIX_PATH, the active Python's torch, the environment's (tools/setup.sh).
# COMPATCHECK_LIBTORCH is the folder that was found.
set(COMPATCHECK_TORCH "" CACHE PATH "A libtorch to build with: the folder that holds include/ and lib/")

option(COMPATCHECK_KEEP_LIBTORCH_PATH
  "What is installed falls back to the libtorch that it was built with; off for packages" ON)

function(compatcheck_find_torch)
  string(REPLACE ":" ";" environment_prefixes "$ENV{CMAKE_PREFIX_PATH}")
  set(root "")
  foreach(prefix IN LISTS COMPATCHECK_TORCH CMAKE_PREFIX_PATH environment_prefixes SETUP_torch)
    if(EXISTS ${prefix}/lib/libtorch_cpu.so)
      set(root ${prefix})
      break()
    endif()
  endforeach()
  if(NOT root)
    message(FATAL_ERROR "no libtorch: run tools/setup.sh build, or give one with CMAKE_PREFIX_PATH or -DCOMPATCHECK_TORCH=FOLDER")
  endif()

  compatcheck_torch_version(${root}/include version)
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" supported ${VERSION_TORCH})
  if(NOT version STREQUAL supported)
    message(FATAL_ERROR "${root} is libtorch ${version}; compatcheck is made for ${supported}")
  endif()
  message(STATUS "Found libtorch ${version}: ${root}")
  set(COMPATCHECK_LIBTORCH ${root} CACHE INTERNAL "")

  # IMPORTED: its headers count as system headers, so that our warnings don't reach them.
  add_library(torch_headers_and_libs INTERFACE IMPORTED GLOBAL)
  target_include_directories(torch_headers_and_libs INTERFACE ${root}/include ${root}/include/torch/csrc/api/include)
  target_compile_definitions(torch_headers_and_libs INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
  if(COMPATCHECK_ASAN)  # libtorch doesn't export the type information of all its classes
    target_compile_options(torch_headers_and_libs INTERFACE -fno-sanitize=vptr)
  endif()
  # Not libtorch.so: in CUDA builds it draws in the GPU's libraries, and we load to the CPU alone.
  target_link_libraries(torch_headers_and_libs INTERFACE ${root}/lib/libtorch_cpu.so ${root}/lib/libc10.so)
endfunction()

function(compatcheck_torch_version headers result)
  set(${result} "of unknown version" PARENT_SCOPE)
  foreach(file torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
    if(EXISTS ${headers}/${file})
      file(STRINGS ${headers}/${file} lines REGEX "^#define TORCH_VERSION_(MAJOR|MINOR) ")
      if(lines MATCHES "MAJOR ([0-9]+).*MINOR ([0-9]+)")
        set(${result} ${CMAKE_MATCH_1}.${CMAKE_MATCH_2} PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
endfunction()

compatcheck_find_torch()
