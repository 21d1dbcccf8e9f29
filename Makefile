# The short way in. Every target installs what it is missing (tools/setup.sh) and repeats nothing.
#
#   make          build/compatcheck and the TorchScript helper program beside it
#   make demo     build/compatcheck alone, which needs no libtorch; makes BERT with random weights, shows its report at opset 11 and
#                 converts it
#   make wheel    dist/*.whl, the Python package with the program in it, tried in a fresh environment; with LIBTORCH=ON also the
#                 TorchScript helper program, which needs libtorch to be built and used
#   make check    after each edit: unit tests, goldens, style and prose, and the tests that belong to the files changed since the last commit
#   make test     before each commit: all that protects a user from a wrong model, a crash or false advice
#   make test-all before a release: every test, all opsets, sanitizers, fuzzers, scans, the wheel (hours; goes on where it was interrupted);
#                 STAGES="asan fuzz" chooses
#   make test-asan all but the operator corpus under AddressSanitizer;  make test-tsan: the tests of threads under ThreadSanitizer
#   make test-scan scans of registries that are too long for make test: 2,000 models on a Ray cluster of three nodes, a model of
#                 1 GB, and Spark, for which it installs Java (about 15 minutes, 1 GB of downloads)
#   make fuzz     the fuzzers, FUZZ_SECONDS each
#   make corpus   the whole operator corpus at every opset, as exported programs too, and every operator in every pair of dtypes; writes reports/coverage.tsv and .md;
#                 with OPS=histc the cases of one operator alone
#   make models   architectures of transformers, exported, converted at two opsets, run, and given to PyTorch's exporter; writes
#                 reports/models.md and .html (hours; goes on where it was interrupted); ONLY='^(bert|llama)$$' chooses
#   make operators the lines of tests/operators, with OPS=histc those of one operator
#   make retargeted  the onnx package's models of single nodes at other opsets, with onnx's converter beside; writes reports/retargeted.md
#   make programs random programs against TorchScript, PROGRAMS of them; failures go to build/programs
#   make mutants  how strong the tests are: COUNT small faults in the sources, chosen by SEED, and which tests find them; REPORT=reports/mutants.md
#                 names the file with the outcome, AGAINST=COMMIT tries what survived on that commit's tests (hours)
#   make fixtures packs the files that tests read into tests/fixtures, when many have changed
#   make bench    speed and memory as ratios
#   make format   clang-format; with CHECK=1 it changes nothing and fails where it would
#   make tidy     clang-tidy over our code (about an hour of one core); FILES=REGEX chooses
#   make clean    removes the build folders, not what is cached
#
# DEMO_MODEL and DEMO_OPSET choose another demonstration. A libtorch of your own: make CMAKE_PREFIX_PATH=/path/to/libtorch

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := all
.PHONY: all demo wheel check test test-all test-whole test-scan test-asan test-tsan fuzz corpus models operators retargeted programs mutants fixtures bench format tidy clean

DEMO_MODEL ?= bert_base-traced
DEMO_OPSET ?= 11
FUZZ_SECONDS ?= 60
PROGRAMS ?= 20000
COUNT ?= 48
LIBTORCH ?= OFF
jobs := $(shell nproc)

# Looked up when a recipe runs, after set-up.
environment = $(shell tools/setup.sh paths | sed -n 's/^environment=//p')
cmake = $(environment)/bin/cmake
python = $(environment)/bin/python
libtorch = $(wildcard $(shell tools/setup.sh paths | sed -n 's/^torch=//p')/lib/libtorch_cpu.so)

all:
	@tools/setup.sh build
	@$(cmake) --preset release --log-level=WARNING
	@$(cmake) --build --preset release --target product

# Making the model needs torch, the program doesn't.
demo:
	@tools/setup.sh program
	@$(cmake) --preset release --log-level=WARNING $(if $(libtorch),,-DCOMPATCHECK_WITH_LIBTORCH=OFF -DBUILD_TESTING=OFF)
	@$(cmake) --build --preset release --target compatcheck
	@tools/setup.sh models
	@[ -f build/demo/$(DEMO_MODEL).pt ] || $(python) tests/models/make_models.py --only $(DEMO_MODEL) --out build/demo
	@printf '\n$$ build/compatcheck build/demo/%s.pt --opset %s\n\n' $(DEMO_MODEL) $(DEMO_OPSET)
	@build/compatcheck build/demo/$(DEMO_MODEL).pt --opset $(DEMO_OPSET) || [ $$? -eq 1 ]
	@printf '\n$$ build/compatcheck convert build/demo/%s.pt --opset %s -o build/demo/%s.onnx\n\n' $(DEMO_MODEL) $(DEMO_OPSET) $(DEMO_MODEL)
	@build/compatcheck convert build/demo/$(DEMO_MODEL).pt --opset $(DEMO_OPSET) -o build/demo/$(DEMO_MODEL).onnx || [ $$? -eq 1 ]

# From a copy whose build folder has the usual name: ccache then knows what `make` has compiled.
wheel:
	@tools/setup.sh wheel
	@rm -rf build-wheel dist && mkdir build-wheel
	@tar -c --exclude=./build --exclude='./build-*' --exclude=./dist --exclude=./.git --exclude=__pycache__ . | tar -x -C build-wheel
	@$(python) -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --config-settings build-dir=build \
	  --config-settings cmake.define.COMPATCHECK_WITH_LIBTORCH=$(LIBTORCH) --wheel-dir dist ./build-wheel
	@$(python) tests/python/check_wheel.py dist/*.whl

# run_tests TIER [option...]: what is built in the folder of the preset, or of PRESET
run_tests = $(python) tests/runner/run_tests.py $(1) --since $(began)

check test test-whole fixtures test-asan: began := $(shell date +%s)
check:
	@tools/setup.sh test
	@$(cmake) --preset release --log-level=WARNING
	@$(cmake) --build --preset release
	@$(call run_tests,check)

test:
	@tools/setup.sh test
	@$(cmake) --preset release --log-level=WARNING
	@$(cmake) --build --preset release
	@$(call run_tests,test)

test-all:
	@tools/test_all.sh $(STAGES)

# Its first stage
test-whole:
	@tools/setup.sh test
	@$(cmake) --preset release --log-level=WARNING
	@$(cmake) --build --preset release
	@$(call run_tests,all) $(if $(RESUME),--resume $(RESUME))

test-scan:
	@tools/setup.sh scan
	@$(cmake) --preset release --log-level=WARNING
	@$(environment)/bin/ctest --preset release -R '^make_(models|broken)$$' > /dev/null
	@$(cmake) --build --preset release --target long_scans

test-asan:
	@tools/setup.sh test
	@$(cmake) --preset asan --log-level=WARNING
	@$(cmake) --build --preset asan
	@$(call run_tests,test) --preset asan --exclude corpus

test-tsan:
	@tools/setup.sh test
	@$(cmake) --preset tsan --log-level=WARNING
	@$(cmake) --build --preset tsan --target thread_tests
	@$(environment)/bin/ctest --preset tsan

fuzz:
	@tools/setup.sh fuzz
	@$(cmake) --preset fuzz --log-level=WARNING
	@$(cmake) --build --preset fuzz --target fuzzers
	@tests/fuzz/run.sh build-fuzz $(FUZZ_SECONDS)

corpus:
	@tools/setup.sh test
	@$(cmake) --preset release --log-level=WARNING
ifdef OPS
	@OPS='$(OPS)' $(cmake) --build --preset release --target corpus_of
else
	@$(cmake) --build --preset release
	@$(cmake) --build --preset release --target dtype_calls_whole
	@$(cmake) --build --preset release --target exported_whole
	@$(cmake) --build --preset release --target coverage
endif

retargeted:
	@tools/setup.sh test
	@$(cmake) --preset release --log-level=WARNING
	@$(cmake) --build --preset release --target compatcheck retargeted

operators:
	@tools/setup.sh test
	@$(cmake) --preset release --log-level=WARNING
	@OPS='$(or $(OPS),.*)' $(cmake) --build --preset release --target operators_of

# The models are made once for each version of transformers and stay in the cache.
models: zoo = $(shell tools/setup.sh paths | sed -n 's/^zoo=//p')
models: all
	@tools/setup.sh zoo
	@OMP_NUM_THREADS=1 PYTHONPATH=$(zoo) $(python) tests/zoo/make_hf.py --out $(zoo)/models --classes one --resume $(if $(ONLY),--only '$(ONLY)')
	@OMP_NUM_THREADS=1 PYTHONPATH=$(zoo) $(python) tests/zoo/judge_models.py --program build/compatcheck --folder $(zoo)/models --peer \
	  $(if $(ONLY),--only '$(ONLY)',--report reports/models)

programs: all
	@tools/setup.sh test
	@$(cmake) --build --preset release --target convert_cases
	@$(python) tests/programs/run_programs.py --program build/tests/convert_cases --helper build/libexec/compatcheck-torchscript \
	  --first 1000000 --count $(PROGRAMS) --jobs $(jobs) --reasons --failures build/programs
	@$(python) tests/programs/run_programs.py --program build/tests/convert_cases --helper build/libexec/compatcheck-torchscript \
	  --containers --first 1000000 --count $(PROGRAMS) --jobs $(jobs) --opsets-each 1 --reasons --failures build/programs

# Continues where it was interrupted, with the same seed.
mutants: SEED ?= $(shell date +%Y%m%d)
mutants:
	@tools/setup.sh test
	@$(python) tools/mutants.py $(if $(AGAINST),--against $(AGAINST),--resume --seed $(SEED) --count $(COUNT)) $(if $(REPORT),--report $(REPORT))

fixtures:
	@tools/setup.sh test
	@$(cmake) --preset release --log-level=WARNING
	@$(call run_tests,test) --names '^(make_.*|layers_.*)$$'
	@$(cmake) --build --preset release --target pack_fixtures

bench: all
	@tools/setup.sh test
	@$(cmake) --build --preset release --target empty_torch
	@$(python) tools/bench.py

format:
	@tools/setup.sh format
	@git ls-files '*.h' '*.cpp' | xargs $(environment)/bin/clang-format $(if $(CHECK),--dry-run -Werror,-i)

tidy:
	@tools/setup.sh tidy
	@$(cmake) --preset release --log-level=WARNING
	@$(cmake) --build --preset release --target product
	@tools/tidy.sh build $(jobs) '$(FILES)'

clean:
	rm -rf build build-debug build-asan build-tsan build-fuzz build-wheel dist
