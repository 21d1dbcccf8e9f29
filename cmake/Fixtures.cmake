# Scripts make the files that tests read, once, into the cache that all clones share:
#   models   COMPATCHECK_MODELS   real architectures in small, traced and scripted (tests/models/make_models.py)
#   full_models  COMPATCHECK_FULL_MODELS  some of them in their real size, for `make test-all`
#   broken   COMPATCHECK_BROKEN   malformed and foreign files (tests/models/make_broken.py)
#   exported COMPATCHECK_EXPORTED exported programs (tests/models/make_exported.py)
#   corpus   COMPATCHECK_CORPUS   models for each operator of PyTorch's test database (tests/corpus/)
#   exported_corpus  COMPATCHECK_EXPORTED_CORPUS  one call of some operators, as exported programs too
# Archives in tests/fixtures hold most of them, which tests/runner/fixtures.py unpacks; what has changed since is made anew.
if(NOT DEFINED COMPATCHECK_MODELS)  # another folder, while models change
  set(COMPATCHECK_MODELS ${SETUP_cache}/models)
endif()
set(COMPATCHECK_FULL_MODELS ${SETUP_cache}/full-models)
set(COMPATCHECK_BROKEN ${SETUP_cache}/broken)
set(COMPATCHECK_EXPORTED ${SETUP_cache}/exported)

set(generator ${PROJECT_SOURCE_DIR}/tests/corpus/opinfo_corpus.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${generator})
file(SHA256 ${generator} hash)
string(SUBSTRING ${hash} 0 12 hash)
set(corpus_folder ${SETUP_cache}/corpus-torch${VERSION_TORCH}-${hash})
set(COMPATCHECK_CORPUS ${corpus_folder}-part/dev)
set(COMPATCHECK_EXPORTED_CORPUS ${corpus_folder}-exported-part/dev)

set(fixtures ${PROJECT_SOURCE_DIR}/tests/runner/fixtures.py)
add_test(NAME unpack_fixtures COMMAND ${COMPATCHECK_PYTHON} ${fixtures} unpack ${SETUP_cache})
set_tests_properties(unpack_fixtures PROPERTIES FIXTURES_SETUP packed COST 2000)
add_test(NAME fixtures_packed COMMAND ${COMPATCHECK_PYTHON} ${fixtures} check ${SETUP_cache})
set_tests_properties(fixtures_packed PROPERTIES LABELS all)
add_custom_target(pack_fixtures
  COMMAND ${CMAKE_COMMAND} -E env COMPATCHECK_TORCHVISION=${SETUP_torchvision} ${COMPATCHECK_PYTHON} ${fixtures} pack ${SETUP_cache}
  USES_TERMINAL VERBATIM)

function(compatcheck_fixture name)
  add_test(NAME make_${name} COMMAND ${ARGN})
  # Early: others wait for it.
  set_tests_properties(make_${name} PROPERTIES FIXTURES_SETUP ${name} FIXTURES_REQUIRED packed COST 1000 TIMEOUT 1800)
endfunction()

set(models ${PROJECT_SOURCE_DIR}/tests/models)
compatcheck_fixture(models flock ${COMPATCHECK_MODELS}.lock ${COMPATCHECK_PYTHON} ${models}/make_models.py --out ${COMPATCHECK_MODELS} --small)
compatcheck_fixture(full_models flock ${COMPATCHECK_FULL_MODELS}.lock ${COMPATCHECK_PYTHON} ${models}/make_models.py --out ${COMPATCHECK_FULL_MODELS}
  --only bert_base,resnet50)
set_tests_properties(make_full_models PROPERTIES LABELS all)
compatcheck_fixture(broken flock ${COMPATCHECK_BROKEN}.lock ${COMPATCHECK_PYTHON} ${models}/make_broken.py --out ${COMPATCHECK_BROKEN})
compatcheck_fixture(exported flock ${COMPATCHECK_EXPORTED}.lock ${COMPATCHECK_PYTHON} ${models}/make_exported.py --out ${COMPATCHECK_EXPORTED})
set(make_corpus ${PROJECT_SOURCE_DIR}/tests/corpus/make_corpus.sh ${COMPATCHECK_PYTHON})
compatcheck_fixture(corpus ${make_corpus} ${corpus_folder}-part --max-per-op 4)
compatcheck_fixture(exported_corpus ${make_corpus} ${corpus_folder}-exported-part --max-per-op 1 --dtypes float32 --pt2 --part 1/8)
# Whole, for `make corpus`.
set(whole_corpus ${corpus_folder}-whole)
set(whole_exported_corpus ${corpus_folder}-exported-whole)

# compatcheck_needs(TEST models|broken|exported|corpus|exported_corpus...)
function(compatcheck_needs test)
  set_property(TEST ${test} APPEND PROPERTY FIXTURES_REQUIRED ${ARGN})
  set_property(TEST ${test} APPEND PROPERTY LABELS ${ARGN})
endfunction()
