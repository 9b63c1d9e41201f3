# An image with the command snellen, which starts without compiling anything.
#
#   docker build -t snellen .                                  for the CPU
#   docker build -t snellen:cuda --build-arg EXTRAS=cuda13 .   for NVIDIA GPUs; cuda12 for older drivers
#   docker run --rm -u "$(id -u):$(id -g)" -v "$PWD:/work" snellen upscale film.mkv
#   docker run --rm --gpus all -v "$PWD:/work" snellen:cuda upscale film.mkv
#
# docs/containers.md says more. CUDA comes as wheels, so both images have one base. requirements.lock has the
# versions and digests of what every image needs; an extra brings more.

FROM python:3.13-slim AS wheels
ARG EXTRAS=""
WORKDIR /source
COPY pyproject.toml hatch_build.py README.md LICENSE NOTICE requirements.lock ./
RUN grep -o '^[^ #]*==[^ ]*' requirements.lock > versions.txt && \
    python -m pip download --no-cache-dir --require-hashes --only-binary :all: --dest /wheels -r requirements.lock
COPY src src
RUN python -m pip wheel --no-cache-dir --find-links /wheels --wheel-dir /wheels -c versions.txt ".${EXTRAS:+[$EXTRAS]}"

FROM python:3.13-slim
LABEL org.opencontainers.image.title="snellen" \
      org.opencontainers.image.description="Super-resolution, blind deblurring and quality scores of images and video" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
ARG EXTRAS=""
RUN --mount=type=bind,from=wheels,source=/wheels,target=/wheels \
    --mount=type=bind,from=wheels,source=/source/requirements.lock,target=/requirements.lock \
    python -m pip install --no-cache-dir --no-index --find-links /wheels --require-hashes -r /requirements.lock && \
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
