# cmake -DOUTPUT=… -DINPUT=… -P embed_helper.cmake: the helper in Python as a string literal.
file(READ "${INPUT}" text)
file(WRITE "${OUTPUT}.new" "#include \"frontend/locate.h\"\n\nnamespace compatcheck::frontend {\n\n"
  "extern const std::string_view python_helper = R\"helper(${text})helper\";\n\n}  // namespace compatcheck::frontend\n")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
