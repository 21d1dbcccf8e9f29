set(unite_by_default ON)
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(unite_by_default OFF)  # so that each file is seen to include what it needs
endif()
option(COMPATCHECK_UNITE "Compile the files of a room several at a time, which halves the time of a build from nothing" ${unite_by_default})

# The files of `target` are compiled twelve at a time, or as many as are given. tests/architecture/check_names.py checks that their names don't clash.
function(compatcheck_unite target)
  if(COMPATCHECK_UNITE)
    set(size 12)
    if(ARGC GREATER 1)
      set(size ${ARGV1})
    endif()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
  endif()
endfunction()

# The folder reading/ of `room`, a library of its own: the program that compiles the room's data in is built with it.
function(compatcheck_reading room)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/reading/*.cpp)
  set(target compatcheck_${room}_reading)
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${target} PUBLIC ${ARGN} PRIVATE yaml-cpp)
  compatcheck_precompile_as(${target} compatcheck_ir)
  compatcheck_unite(${target})
  set_property(GLOBAL APPEND PROPERTY COMPATCHECK_ROOMS ${target})
endfunction()

# compatcheck_generate(FILE PROGRAM DATA argument...): the C++ file that the program writes, with these arguments, from DATA, a list
# of files. Not compiled with others.
function(compatcheck_generate file program data)
  add_custom_command(OUTPUT ${file}
    COMMAND ${program} ${ARGN} ${file}
    DEPENDS ${program} ${data}
    COMMENT "${program}: writing ${file}"
    VERBATIM)
  set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# Links the C++ runtime into `target`, a program or a shared library, and hides the symbols of linked libraries. It then runs
# where that runtime is older, and beside other versions of the same libraries.
function(compatcheck_standalone target)
  if(NOT COMPATCHECK_ASAN AND NOT COMPATCHECK_TSAN AND NOT COMPATCHECK_FUZZ)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL)
  endif()
endfunction()

# A room is a folder of src/ built as one static library that may use the rooms it names and what those may use.
# tests/architecture/ checks that the includes say the same. PRECOMPILES: headers, beside the standard library's, that most
# of its files include; LIKE: a room that it uses, whose precompiled headers it shares instead of those of `ir`. UNITE: how many files are compiled at a time, few where an edit would
# wait for long.
function(compatcheck_room name)
  cmake_parse_arguments(ARG "" "UNITE" "USES;LINKS;SOURCES;PRECOMPILES;LIKE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(APPEND sources ${ARG_SOURCES})
  list(TRANSFORM ARG_USES PREPEND compatcheck_ OUTPUT_VARIABLE used)
  if(sources)
    add_library(compatcheck_${name} STATIC ${sources})
    set(scope PUBLIC)
    set_property(GLOBAL APPEND PROPERTY COMPATCHECK_ROOMS compatcheck_${name})
    compatcheck_unite(compatcheck_${name} ${ARG_UNITE})
  else()
    add_library(compatcheck_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(compatcheck_${name} ${scope} ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(compatcheck_${name} ${scope} ${used} ${ARG_LINKS})
  if(ARG_PRECOMPILES)
    compatcheck_precompile(compatcheck_${name} ${ARG_PRECOMPILES})
  elseif(sources AND ARG_LIKE)
    compatcheck_precompile_as(compatcheck_${name} compatcheck_${ARG_LIKE})
  elseif(sources AND NOT name STREQUAL "process")  # its definitions are its own
    compatcheck_precompile_as(compatcheck_${name} compatcheck_ir)
  endif()
endfunction()
