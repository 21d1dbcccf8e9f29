# The language, the warnings, and what makes building fast.
option(COMPATCHECK_ASAN "Build our own code with AddressSanitizer and UndefinedBehaviorSanitizer" OFF)
option(COMPATCHECK_TSAN "Build our own code with ThreadSanitizer: for the tests of threads" OFF)
option(COMPATCHECK_FUZZ "Build the libFuzzer targets (needs clang)" OFF)

# Newer compilers know warnings that nobody here has seen: only this one's are errors unless asked for.
set(tested_compiler OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  set(tested_compiler ON)
endif()
option(COMPATCHECK_WERROR "Warnings of our own code are errors" ${tested_compiler})

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # the library may end up in somebody's shared one
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or RelWithDebInfo" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG")  # higher levels cost a third more compile time and gain nothing that was measured

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wimplicit-fallthrough
                    "$<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor;-Woverloaded-virtual;-Wextra-semi>")
if(COMPATCHECK_WERROR)
  add_compile_options(-Werror)
endif()
# GCC 12 warns of members of optionals and variants that nothing reads, and inside std::string's own copying (GCC's bugs 105329
# and 105651, mended in 13), by which of the four depends on what it inlines.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread>")
  endif()
endif()

# GCC looks for memory to free from 512 MB on, instead of 128: a tenth less time for 200 MB more.
add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=524288>")

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  # A precompiled header doesn't keep ccache from finding what it has, nor does another clone of the same sources. Comments count:
  # a precompiled header knows its files by their contents.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_COMMENTS=1 ${CCACHE})
endif()

foreach(linker mold lld)
  find_program(LINKER_${linker} NAMES ${linker} ld.${linker})
  if(LINKER_${linker})
    add_link_options(-fuse-ld=${linker})
    break()
  endif()
endforeach()

if(COMPATCHECK_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(COMPATCHECK_TSAN)
  add_compile_options(-fsanitize=thread -O0 -g1)  # a run takes seconds at any level, and building takes most of the time
  add_link_options(-fsanitize=thread)
endif()
if(COMPATCHECK_ASAN OR COMPATCHECK_FUZZ)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=address,undefined)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)  # an index beyond a vector's size may still be within what it has allocated
endif()
