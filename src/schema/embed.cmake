# cmake -DOUTPUT=… -DTORCH=… -DLIBRARIES=… -P embed.cmake: the data files as string literals.
function(literal file)
  file(READ "${file}" text)
  file(APPEND "${OUTPUT}.new" "R\"schemas(${text})schemas\"")
endfunction()

file(WRITE "${OUTPUT}.new" "#include \"schema/shipped.h\"\n\nnamespace compatcheck::schema {\n\nconst std::string_view shipped[] = {\n")
literal("${TORCH}")
file(APPEND "${OUTPUT}.new" ",\n")
literal("${LIBRARIES}")
file(APPEND "${OUTPUT}.new" "};\n\n}  // namespace compatcheck::schema\n")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
