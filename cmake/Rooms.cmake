set(unite_by_default ON)
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(unite_by_default OFF)  # so that each file is seen to include what it needs
endif()
option(COMPATCHECK_UNITE "Compile the files of a room several at a time, which halves the time of a build from nothing" ${unite_by_default})

# The files of `target` are compiled eight at a time. tests/architecture/check_names.py checks that their names don't clash.
function(compatcheck_unite target)
  get_target_property(type ${target} TYPE)
  if(COMPATCHECK_UNITE AND NOT type STREQUAL "INTERFACE_LIBRARY")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# A room is a folder of src/ built as one static library that may use the rooms it names and what those may use.
# tests/architecture/ checks that the includes say the same. PRECOMPILES: headers of others, beside the standard library's, that most
# of its files include; LIKE: a room that it uses, whose precompiled headers it shares instead of those of `ir`.
function(compatcheck_room name)
  cmake_parse_arguments(ARG "" "" "USES;LINKS;SOURCES;PRECOMPILES;LIKE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(APPEND sources ${ARG_SOURCES})
  list(TRANSFORM ARG_USES PREPEND compatcheck_ OUTPUT_VARIABLE used)
  if(sources)
    add_library(compatcheck_${name} STATIC ${sources})
    set(scope PUBLIC)
    set_property(GLOBAL APPEND PROPERTY COMPATCHECK_ROOMS compatcheck_${name})
  else()
    add_library(compatcheck_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  compatcheck_unite(compatcheck_${name})
  target_include_directories(compatcheck_${name} ${scope} ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(compatcheck_${name} ${scope} ${used} ${ARG_LINKS})
  if(ARG_PRECOMPILES OR name STREQUAL "ir")
    compatcheck_precompile(compatcheck_${name} ${ARG_PRECOMPILES})
  elseif(sources AND ARG_LIKE)
    compatcheck_precompile_as(compatcheck_${name} compatcheck_${ARG_LIKE})
  elseif(sources AND NOT name STREQUAL "process")  # its definitions are its own
    compatcheck_precompile_as(compatcheck_${name} compatcheck_ir)
  endif()
endfunction()
