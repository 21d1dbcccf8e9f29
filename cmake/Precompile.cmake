# Precompiled headers: parsing takes most of a file's compile time. Our own are precompiled by GCC only: its `#pragma once` knows a
# header by its contents, also where ccache restores what another clone has precompiled.
set(precompile_by_default ON)
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(precompile_by_default OFF)  # so that a missing #include is seen
endif()
option(COMPATCHECK_PRECOMPILE "Precompile the headers that most files of a room include" ${precompile_by_default})

# For `target`: the standard library and these headers.
function(compatcheck_precompile target)
  if(COMPATCHECK_PRECOMPILE)
    # ccache restores a file with another time than clang noted in the precompiled header.
    target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
    set(headers ${ARGN})
    if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      list(FILTER headers EXCLUDE REGEX "^<(ir|handlers)/")
    endif()
    target_precompile_headers(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/standard_library.h ${headers})
  endif()
endfunction()

# For `target`: what is precompiled for another one.
function(compatcheck_precompile_as target other)
  if(COMPATCHECK_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${other})
  endif()
endfunction()
