# Runs as a script: manual pages and completions of PROGRAM go INTO a folder that is laid out as share/.
function(write_page file)
  execute_process(COMMAND ${PROGRAM} ${ARGN} OUTPUT_FILE ${INTO}/${file}.new COMMAND_ERROR_IS_FATAL ANY)
  file(RENAME ${INTO}/${file}.new ${INTO}/${file})
endfunction()

file(MAKE_DIRECTORY ${INTO}/man/man1 ${INTO}/bash-completion/completions ${INTO}/zsh/site-functions ${INTO}/fish/vendor_completions.d)
execute_process(COMMAND ${PROGRAM} man --list OUTPUT_VARIABLE commands COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" commands "${commands}")
foreach(command IN LISTS commands)
  write_page(man/man1/compatcheck-${command}.1 man ${command})
endforeach()
write_page(bash-completion/completions/compatcheck completion bash)
write_page(zsh/site-functions/_compatcheck completion zsh)
write_page(fish/vendor_completions.d/compatcheck.fish completion fish)
write_page(man/man1/compatcheck.1 man)   # last: the build looks at this one
