# cmake -D BUILD=… -D WORK=… -D CXX=… -P install_and_consume.cmake
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
# Installed in one place and moved to another, as packages are: nothing may remember the first.
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/staged)
file(RENAME ${WORK}/staged ${WORK}/installed)

run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${WORK}/build -G Ninja
    -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_PREFIX_PATH=${WORK}/installed)
run(${CMAKE_COMMAND} --build ${WORK}/build)

execute_process(COMMAND ${WORK}/build/consumer ${CMAKE_CURRENT_LIST_DIR}/consumer/model.txt
                OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
if(NOT output MATCHES "aten::linalg_pinv")
  message(FATAL_ERROR "the consumer's report doesn't name the missing operator:\n${output}")
endif()
run(${WORK}/build/consumer ${CMAKE_CURRENT_LIST_DIR}/consumer/convertible.txt ${WORK}/model.onnx)
if(NOT EXISTS ${WORK}/model.onnx)
  message(FATAL_ERROR "the consumer wrote no ONNX file")
endif()
run(${WORK}/installed/bin/compatcheck --version)
foreach(page man/man1/compatcheck.1 man/man1/compatcheck-render.1 bash-completion/completions/compatcheck zsh/site-functions/_compatcheck
        fish/vendor_completions.d/compatcheck.fish)
  if(NOT EXISTS ${WORK}/installed/share/${page})
    message(FATAL_ERROR "share/${page} isn't installed")
  endif()
endforeach()

# The example of a plugin: built against the headers alone, checked, converted, and compared in ONNX Runtime.
run(${CMAKE_COMMAND} -S ${EXAMPLES}/17-plugin -B ${WORK}/plugin -G Ninja
    -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_PREFIX_PATH=${WORK}/installed)
run(${CMAKE_COMMAND} --build ${WORK}/plugin)
run(${PYTHON} ${EXAMPLES}/17-plugin/model.py ${WORK})
set(plugin --plugin ${WORK}/plugin/acme.so --input x=f32:batch,4)
execute_process(COMMAND ${WORK}/installed/bin/compatcheck ${WORK}/model.pt --input x=f32:batch,4 RESULT_VARIABLE without OUTPUT_QUIET)
if(NOT without EQUAL 1)
  message(FATAL_ERROR "without the plugin the example's model ends with ${without} instead of 1")
endif()
run(${WORK}/installed/bin/compatcheck ${WORK}/model.pt ${plugin})
run(${WORK}/installed/bin/compatcheck convert ${WORK}/model.pt ${plugin} -o ${WORK}/model.onnx)
run(${PYTHON} ${EXAMPLES}/17-plugin/compare.py ${WORK}/model.pt ${WORK}/model.onnx)
