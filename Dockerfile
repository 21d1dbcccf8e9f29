# The program and the Python package, without compiler and libtorch: check, convert and the CI gate, not verify.
#
#   docker build -t compatcheck .
#   docker run --rm -v "$PWD:/work" compatcheck model.pt --opset 17
FROM debian:12 AS build
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates make
WORKDIR /compatcheck
# The libraries are built anew only if the set-up changes.
COPY tools/setup.sh tools/versions.env tools/
RUN tools/setup.sh wheel
COPY . .
RUN make wheel

FROM debian:12-slim
# git is for --changed-since; a mounted repository belongs to another user.
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates git python3-venv && rm -rf /var/lib/apt/lists/* && \
  git config --system --add safe.directory '*'
RUN --mount=type=bind,from=build,source=/compatcheck/dist,target=/dist \
  python3 -m venv /opt/compatcheck && /opt/compatcheck/bin/pip install --no-cache-dir --disable-pip-version-check /dist/*.whl
ENV PATH=/opt/compatcheck/bin:$PATH
WORKDIR /work
ENTRYPOINT ["compatcheck"]
