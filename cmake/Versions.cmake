# The pinned versions (tools/versions.env), as VERSION_<NAME>.
set(versions_file ${PROJECT_SOURCE_DIR}/tools/versions.env)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${versions_file})
file(STRINGS ${versions_file} versions REGEX "^[A-Z_]+=")
foreach(line IN LISTS versions)
  string(REGEX MATCH "^([A-Z_]+)=(.*)$" line "${line}")
  set(VERSION_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
endforeach()

# Where tools/setup.sh put things; that script alone knows.
execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/setup.sh paths OUTPUT_VARIABLE paths OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" paths "${paths}")
foreach(line IN LISTS paths)
  string(REGEX MATCH "^([a-z_]+)=(.*)$" line "${line}")
  set(SETUP_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
endforeach()
