# Nascent on Debian 12, with everything that scripts/setup installs: docker build -t nascent .
FROM debian:12 AS build
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends ca-certificates git make
COPY . /nascent
WORKDIR /nascent
RUN scripts/setup && cmake --preset package && cmake --build build/package && DESTDIR=/installed cmake --install build/package

FROM debian:12
# What the program loads, graphviz and gnuplot for reports, and ssh, by which mpirun starts ranks in other containers:
# there it finds /usr/sbin/sshd.
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends libtorch1.13 libopenblas0-openmp libfmt9 libspdlog1.10 \
      libsqlite3-0 zlib1g libbz2-1.0 libjpeg62-turbo libpng16-16 libwebp7 libgif7 libtiff6 libhwy1 libonnx1 libprotobuf32 \
      libopencv-dnn406 libmicrohttpd12 libopenmpi3 openmpi-bin openssh-client openssh-server graphviz gnuplot-nox \
      dataset-fashion-mnist \
    && rm -rf /var/lib/apt/lists/* && mkdir -p /run/sshd
# Containers come and go under names that nobody knows yet, and their keys are mounted, owned by others.
RUN printf 'StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n' > /etc/ssh/ssh_config.d/ranks.conf \
    && printf 'StrictModes no\n' > /etc/ssh/sshd_config.d/ranks.conf
COPY --from=build /installed /
ENTRYPOINT ["nascent"]
