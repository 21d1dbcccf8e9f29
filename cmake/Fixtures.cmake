# Scripts make the files that tests read, once, into the cache that all clones share:
#   models   COMPATCHECK_MODELS   real architectures, traced and scripted (tests/models/make_models.py)
#   broken   COMPATCHECK_BROKEN   malformed and foreign files (tests/models/make_broken.py)
#   exported COMPATCHECK_EXPORTED exported programs (tests/models/make_exported.py)
#   corpus   COMPATCHECK_CORPUS   one model for each operator of PyTorch's test database (tests/corpus/)
#   exported_corpus  COMPATCHECK_EXPORTED_CORPUS  one call of each operator, as exported programs too
if(NOT DEFINED COMPATCHECK_MODELS)  # another folder, while models change
  set(COMPATCHECK_MODELS ${SETUP_cache}/models)
endif()
set(COMPATCHECK_BROKEN ${SETUP_cache}/broken)
set(COMPATCHECK_EXPORTED ${SETUP_cache}/exported)

set(generator ${PROJECT_SOURCE_DIR}/tests/corpus/opinfo_corpus.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${generator})
file(SHA256 ${generator} hash)
string(SUBSTRING ${hash} 0 12 hash)
set(corpus_folder ${SETUP_cache}/corpus-torch${VERSION_TORCH}-${hash})
set(COMPATCHECK_CORPUS ${corpus_folder}/dev)
set(COMPATCHECK_EXPORTED_CORPUS ${corpus_folder}-exported/dev)

function(compatcheck_fixture name)
  add_test(NAME make_${name} COMMAND ${ARGN})
  # Early and on its own: the others wait for it, and it uses every core.
  set_tests_properties(make_${name} PROPERTIES FIXTURES_SETUP ${name} COST 1000 TIMEOUT 1800)
endfunction()

set(models ${PROJECT_SOURCE_DIR}/tests/models)
compatcheck_fixture(models flock ${COMPATCHECK_MODELS}.lock ${COMPATCHECK_PYTHON} ${models}/make_models.py --out ${COMPATCHECK_MODELS})
compatcheck_fixture(broken flock ${COMPATCHECK_BROKEN}.lock ${COMPATCHECK_PYTHON} ${models}/make_broken.py --out ${COMPATCHECK_BROKEN})
compatcheck_fixture(exported flock ${COMPATCHECK_EXPORTED}.lock ${COMPATCHECK_PYTHON} ${models}/make_exported.py --out ${COMPATCHECK_EXPORTED})
set(make_corpus ${PROJECT_SOURCE_DIR}/tests/corpus/make_corpus.sh ${COMPATCHECK_PYTHON})
compatcheck_fixture(corpus ${make_corpus} ${corpus_folder} --max-per-op 12)
compatcheck_fixture(exported_corpus ${make_corpus} ${corpus_folder}-exported --max-per-op 1 --dtypes float32 --pt2)

# compatcheck_needs(TEST models|broken|exported|corpus|exported_corpus...)
function(compatcheck_needs test)
  set_property(TEST ${test} APPEND PROPERTY FIXTURES_REQUIRED ${ARGN})
  set_property(TEST ${test} APPEND PROPERTY LABELS ${ARGN})
endfunction()
