# cmake -DSOURCE=DIR -DCOMMIT=TEXT -DOUTPUT=FILE.cpp -P commit.cmake
# Writes a source that says from which commit it was built, and leaves it alone where it says so already. COMMIT is
# used as it is where it is not empty: for sources without their history, as in a tarball.
if(NOT COMMIT)
  execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
  # A repository above the sources is another project's.
  execute_process(COMMAND git -C ${SOURCE} rev-parse --show-prefix
    OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT status EQUAL 0 OR prefix)
    set(COMMIT unknown)
  endif()
endif()
set(text "// Made by scripts/commit.cmake.\nextern const char* const kHoneCommit;\nconst char* const kHoneCommit = \"${COMMIT}\";\n")
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT text STREQUAL old)
  file(WRITE ${OUTPUT} "${text}")
endif()
