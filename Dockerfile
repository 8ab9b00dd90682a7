# An image that holds the server alone.
#     docker build -t tensord .
#     docker run -p 127.0.0.1:8750:8750 -v tensord:/data tensord
#     docker exec CONTAINER cat /data/token
# The published port is bound to this machine; beyond it, speak TLS (--tls-cert, --tls-key).
FROM debian:bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc make && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN make deps && make -j2 && make deb

FROM debian:bookworm-slim
COPY --from=build /src/build/tensord_*.deb /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/tensord_*.deb && \
    rm -rf /tmp/*.deb /var/lib/apt/lists/* && \
    useradd --system --home-dir /data tensord && install -d -o tensord -g tensord -m 700 /data
USER tensord
VOLUME /data
EXPOSE 8750
STOPSIGNAL SIGTERM
HEALTHCHECK CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8750 && \
    printf 'GET /readyz HTTP/1.1\\r\\nHost: 127.0.0.1:8750\\r\\nConnection: close\\r\\n\\r\\n' >&3 && grep -q ' 200 ' <&3"]
ENTRYPOINT ["tensord", "serve", "--data", "/data", "--listen", "0.0.0.0:8750", "--behind", "docker"]
