# Writes man pages and completions of PROGRAM below OUT, as they are installed below share/:
# cmake -DPROGRAM=build/driftless -DOUT=DIR -P cmd/help/pages.cmake
function(write path)
  get_filename_component(folder ${OUT}/${path} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${PROGRAM} ${ARGN} OUTPUT_FILE ${OUT}/${path} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

write(man/man1/driftless.1 help --man)
execute_process(COMMAND ${PROGRAM} help --names OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY
                OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REPLACE "\n" ";" names "${names}")
foreach(name ${names})
  write(man/man1/driftless-${name}.1 help --man ${name})
endforeach()
write(bash-completion/completions/driftless completion bash)
write(zsh/vendor-completions/_driftless completion zsh)
write(fish/vendor_completions.d/driftless.fish completion fish)
