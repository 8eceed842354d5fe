# Nascent on Debian 12, with everything that scripts/setup installs: docker build -t nascent .
FROM debian:12 AS build
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends ca-certificates git make
COPY . /nascent
WORKDIR /nascent
RUN scripts/setup && cmake --preset package && cmake --build build/package && DESTDIR=/installed cmake --install build/package

FROM debian:12
# What the program loads, graphviz and gnuplot for reports, and ssh, by which mpirun reaches other machines.
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends libtorch1.13 libopenblas0-openmp libfmt9 libspdlog1.10 \
      libsqlite3-0 zlib1g libbz2-1.0 libjpeg62-turbo libpng16-16 libwebp7 libgif7 libtiff6 libhwy1 libonnx1 libprotobuf32 \
      libopencv-dnn406 libmicrohttpd12 libopenmpi3 openmpi-bin openssh-client graphviz gnuplot-nox dataset-fashion-mnist \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /installed /
ENTRYPOINT ["nascent"]
