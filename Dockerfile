# An image with the command snellen, which starts without compiling anything.
#
#   docker build -t snellen .                                  for the CPU
#   docker build -t snellen:cuda --build-arg EXTRAS=cuda13 .   for NVIDIA GPUs; cuda12 for older drivers
#   docker run --rm -u "$(id -u):$(id -g)" -v "$PWD:/work" snellen upscale film.mkv
#   docker run --rm --gpus all -v "$PWD:/work" snellen:cuda upscale film.mkv
#
# docs/containers.md says more. CUDA comes as wheels, so both images have one base.

FROM python:3.13-slim AS wheels
ARG EXTRAS=""
WORKDIR /source
COPY pyproject.toml hatch_build.py README.md LICENSE NOTICE ./
COPY src src
RUN python -m pip wheel --no-cache-dir --wheel-dir /wheels ".${EXTRAS:+[$EXTRAS]}"

FROM python:3.13-slim
ARG EXTRAS=""
RUN --mount=type=bind,from=wheels,source=/wheels,target=/wheels \
    python -m pip install --no-cache-dir --no-index --find-links /wheels "snellen${EXTRAS:+[$EXTRAS]}"
# Compiled loops, of root and read by everybody; what is missing goes to the user's own folder.
ENV SNELLEN_CACHE=/var/cache/snellen \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility,video
RUN snellen doctor --warm
RUN useradd --create-home --uid 1000 snellen
USER snellen
WORKDIR /work
ENTRYPOINT ["snellen"]
CMD ["--help"]
